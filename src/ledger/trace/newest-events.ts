import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { columnsOf, type TracedKey } from './traced-key.js';

/** Of the events with these keys, the ones received last; those that the ledger does not have are left out. */
export async function newestEvents(
  sql: Sql,
  schema: SchemaName,
  keys: readonly TracedKey[],
  limit: number,
): Promise<readonly TracedKey[]> {
  const { rows } = await sql<TracedKey>(
    `SELECT e.tenant, e.event_key AS key
     FROM unnest($1::text[], $2::text[]) AS asked (tenant, event_key) JOIN ${schema}.events e USING (tenant, event_key)
     ORDER BY e.received_at DESC, e.event_key LIMIT ${limit}`,
    columnsOf(keys),
  );
  return rows;
}
