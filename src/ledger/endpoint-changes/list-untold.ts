import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** An endpoint with a version that the deliveries under way have not been told of. */
export interface UntoldEndpoint {
  readonly tenant: string;
  readonly endpoint: string;
  readonly version: number;
}

/** Lists endpoints whose deliveries under way have not been told of their last change. */
export async function listUntold(sql: Sql, schema: SchemaName, limit: number): Promise<readonly UntoldEndpoint[]> {
  const { rows } = await sql<UntoldEndpoint>(
    `SELECT tenant, id AS endpoint, version::float8 AS version FROM ${schema}.endpoints
     WHERE told_version < version ORDER BY tenant, id LIMIT $1`,
    [limit],
  );
  return rows;
}
