import type { Sql } from '../database.js';
import type { Act } from '../record-act.js';
import type { SchemaName } from '../schema-name.js';
import { columnsOf, type TracedKey } from './traced-key.js';

/** What a person did, under the key that it is about. */
export interface TracedAct {
  readonly tenant: string;
  readonly key: string;
  readonly id: string;
  readonly kind: Act['kind'];
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
  /** JSON: what they were shown before. */
  readonly seen: string;
  readonly outcome: string;
}

/** Reads the latest acts about each key, in the order in which they were recorded. */
export async function readActs(
  sql: Sql,
  schema: SchemaName,
  keys: readonly TracedKey[],
  limitEach: number,
): Promise<readonly TracedAct[]> {
  const { rows } = await sql<TracedAct>(
    `SELECT a.tenant, a.event_key AS key, a.id, a.kind, a.actor AS by, a.reason, a.at, a.seen, a.outcome
     FROM unnest($1::text[], $2::text[]) AS asked (tenant, event_key)
     CROSS JOIN LATERAL (
       SELECT * FROM ${schema}.acts t WHERE t.tenant = asked.tenant AND t.event_key = asked.event_key
       ORDER BY t.at DESC LIMIT ${limitEach}
     ) a
     ORDER BY a.at, a.id`,
    columnsOf(keys),
  );
  return rows;
}
