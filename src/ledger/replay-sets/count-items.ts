import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Counts the events of a set by outcome, '' for those that have none. */
export async function countItems(
  sql: Sql,
  schema: SchemaName,
  set: { readonly tenant: string; readonly id: string },
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ outcome: string; items: string }>(
    `SELECT coalesce(outcome, '') AS outcome, count(*) AS items
     FROM ${schema}.replay_set_items
     WHERE tenant = $1 AND set_id = $2
     GROUP BY 1`,
    [set.tenant, set.id],
  );
  return new Map(rows.map(({ outcome, items }) => [outcome, Number(items)]));
}
