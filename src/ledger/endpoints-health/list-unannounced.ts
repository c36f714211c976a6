import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { HealthRef } from './lock-health.js';

/** Lists endpoints that were disabled by a 410, or have recovered, and whose owners were not told. */
export async function listUnannounced(sql: Sql, schema: SchemaName, limit: number): Promise<readonly HealthRef[]> {
  const { rows } = await sql<HealthRef>(
    `SELECT tenant, id AS endpoint FROM ${schema}.endpoints
     WHERE (state = 'disabled' AND state_code = 'endpoint_gone' AND (noticed_at IS NULL OR noticed_at < state_at))
        OR (failing_since IS NULL AND notices > 0)
     ORDER BY tenant, id LIMIT $1`,
    [limit],
  );
  return rows;
}
