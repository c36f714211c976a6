import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** What is sealed with one key. */
export interface SealedByKey {
  /** Name of the key. */
  readonly key: string;
  /** Signing secrets that have not expired. */
  readonly secrets: number;
  /** Endpoints whose extra headers are sealed with it. */
  readonly headers: number;
  /** Endpoints that have either. */
  readonly endpoints: number;
}

/** Counts what is sealed with each key, over all tenants. One pass over tables that have a row or two per endpoint. */
export async function countSealedByKey(sql: Sql, schema: SchemaName, limit: number): Promise<readonly SealedByKey[]> {
  const { rows } = await sql<SealedByKey>(
    `SELECT key, count(*) FILTER (WHERE NOT of_headers)::integer AS secrets,
            count(*) FILTER (WHERE of_headers)::integer AS headers,
            count(DISTINCT (tenant, endpoint))::integer AS endpoints
     FROM (SELECT sealed_by AS key, tenant, endpoint, false AS of_headers FROM ${schema}.endpoint_secrets
           WHERE expires_at IS NULL OR expires_at > now()
           UNION ALL
           SELECT headers_key, tenant, id, true FROM ${schema}.endpoints WHERE headers IS NOT NULL) AS sealed
     GROUP BY key
     ORDER BY key LIMIT $1`,
    [limit],
  );
  return rows;
}
