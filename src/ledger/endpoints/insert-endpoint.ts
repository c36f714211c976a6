import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import {
  type EndpointRef,
  type EndpointRow,
  endpointColumns,
  type StoredHeaders,
  type StoredSettings,
} from './endpoint-row.js';

/**
 * Adds an enabled endpoint.
 *
 * @param most Endpoints that the tenant may have, removed ones aside. Of several added at once, a few may go beyond it.
 * @returns Undefined where the tenant has that many.
 */
export async function insertEndpoint(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  settings: StoredSettings,
  headers: StoredHeaders,
  most: number,
): Promise<EndpointRow | undefined> {
  const { rows } = await sql<EndpointRow>(
    `INSERT INTO ${schema}.endpoints
       (tenant, id, url, description, types, rate_limit, concurrency, timeout_ms, pauses_ms, elapsed_ms, at_most_once,
        header_names, headers, headers_key)
     SELECT $1, $2, $3, $4, $5::text[], $6::numeric, $7, $8, $9::bigint[], $10::bigint, $11, $12::text[], $13::bytea, $14
     WHERE (SELECT count(*) FROM ${schema}.endpoints WHERE tenant = $1 AND state <> 'removed') < $15::bigint
     RETURNING ${endpointColumns}`,
    [
      tenant,
      id,
      settings.url,
      settings.description,
      settings.types,
      settings.rateLimit,
      settings.concurrency,
      settings.timeoutMs,
      settings.pausesMs,
      settings.elapsedMs,
      settings.atMostOnce,
      headers.names,
      headers.sealed?.sealed ?? null,
      headers.sealed?.key ?? null,
      most,
    ],
  );
  return rows[0];
}
