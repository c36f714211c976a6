import type { Sql } from '../database.js';
import type { SealedPlace } from '../endpoints/list-sealed-otherwise.js';
import type { SchemaName } from '../schema-name.js';

/** Lists the first places that are sealed with a key, over all tenants, in their order. */
export async function listSealedWith(
  sql: Sql,
  schema: SchemaName,
  key: string,
  limit: number,
): Promise<readonly SealedPlace[]> {
  const { rows } = await sql<SealedPlace>(
    `SELECT tenant, endpoint, secret, sealed, key
     FROM (SELECT tenant, endpoint, id::text AS secret, sealed, sealed_by AS key FROM ${schema}.endpoint_secrets
           WHERE expires_at IS NULL OR expires_at > now()
           UNION ALL
           SELECT tenant, id, '', headers, headers_key FROM ${schema}.endpoints WHERE headers IS NOT NULL) AS place
     WHERE key = $1
     ORDER BY tenant, endpoint, secret LIMIT $2`,
    [key, limit],
  );
  return rows;
}
