import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** How many deliveries of an endpoint ended as dead letters within a time, both ends included. */
export async function countDeadDeliveries(
  sql: Sql,
  schema: SchemaName,
  ended: { readonly tenant: string; readonly endpoint: string; readonly since: Date; readonly until: Date },
): Promise<number> {
  const { rows } = await sql<{ dead: number }>(
    `SELECT count(*)::int AS dead FROM ${schema}.publication_deliveries
     WHERE tenant = $1 AND endpoint = $2 AND state = 'dead_lettered' AND ended_at >= $3 AND ended_at <= $4`,
    [ended.tenant, ended.endpoint, ended.since, ended.until],
  );
  return rows[0]?.dead ?? 0;
}
