import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type OpenEventsOf, openEventsConditions } from './open-events-of.js';

/** Counts open events. */
export async function countOpenEvents(sql: Sql, schema: SchemaName, of: OpenEventsOf): Promise<number> {
  const { where, values } = openEventsConditions(schema, of);
  const { rows } = await sql<{ open: number }>(
    `SELECT count(*)::int AS open FROM ${schema}.events e WHERE ${where}`,
    values,
  );
  return rows[0]?.open ?? 0;
}
