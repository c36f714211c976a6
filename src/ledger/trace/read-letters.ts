import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { columnsOf, type TracedKey } from './traced-key.js';

/** A dead letter of an event or of a delivery, without its input. */
export interface TracedLetter {
  readonly tenant: string;
  readonly key: string;
  readonly id: string;
  readonly code: string;
  readonly message: string;
  readonly occurrences: number;
  /** It waits for a person while its event still runs. */
  readonly parked: boolean;
  readonly openedAt: Date;
  readonly lastAt: Date;
  readonly closedAt: Date | null;
  readonly closedBy: string | null;
  readonly owner: string | null;
  readonly note: string | null;
  /** Run ids that wrote it. */
  readonly runs: readonly string[];
  /** JSON: each effect with the reasons of its attempts. */
  readonly effects: string;
}

/** Reads the latest dead letters of each key, in the order in which they were opened. */
export async function readLetters(
  sql: Sql,
  schema: SchemaName,
  keys: readonly TracedKey[],
  limitEach: number,
): Promise<readonly TracedLetter[]> {
  const { rows } = await sql<TracedLetter>(
    `SELECT l.tenant, l.event_key AS key, l.id::text AS id, l.code, l.message, l.occurrences, l.parked,
            l.opened_at AS "openedAt", l.last_at AS "lastAt", l.closed_at AS "closedAt", l.closed_by AS "closedBy",
            l.owner, l.note, l.runs, l.effects
     FROM unnest($1::text[], $2::text[]) AS asked (tenant, event_key)
     CROSS JOIN LATERAL (
       SELECT * FROM ${schema}.dead_letters d WHERE d.tenant = asked.tenant AND d.event_key = asked.event_key
       ORDER BY d.id DESC LIMIT ${limitEach}
     ) l
     ORDER BY l.opened_at, l.id`,
    columnsOf(keys),
  );
  return rows;
}
