import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { columnsOf, type TracedKey } from './traced-key.js';

/** An attempt that came back after its lease had been taken. */
export interface TracedSuperseded {
  readonly tenant: string;
  readonly eventKey: string;
  readonly effect: string;
  readonly businessKey: string;
  readonly attempt: number;
  readonly ended: 'performed' | 'not_done' | 'unknown';
  readonly at: Date;
}

/** Reads the superseded attempts of events. */
export async function readSuperseded(
  sql: Sql,
  schema: SchemaName,
  keys: readonly TracedKey[],
  limit: number,
): Promise<readonly TracedSuperseded[]> {
  const { rows } = await sql<TracedSuperseded>(
    `SELECT s.tenant, s.event_key AS "eventKey", s.effect, s.business_key AS "businessKey", s.attempt, s.ended, s.at
     FROM unnest($1::text[], $2::text[]) AS asked (tenant, event_key)
     JOIN ${schema}.superseded_attempts s USING (tenant, event_key)
     ORDER BY s.id DESC LIMIT ${limit}`,
    columnsOf(keys),
  );
  return rows;
}
