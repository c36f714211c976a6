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
 * Writes the settings of an endpoint whose row the transaction holds, as its next version.
 *
 * @param headers Undefined leaves them as they are.
 * @param afresh Whether what was learnt of its health is forgotten, as where it has another URL or other headers.
 */
export async function updateEndpointRow(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  settings: StoredSettings,
  headers: StoredHeaders | undefined,
  afresh: boolean,
): Promise<EndpointRow> {
  const { rows } = await sql<EndpointRow>(
    `UPDATE ${schema}.endpoints
     SET url = $3, description = $4, types = $5::text[], rate_limit = $6::numeric, concurrency = $7, timeout_ms = $8,
         pauses_ms = $9::bigint[], elapsed_ms = $10::bigint, at_most_once = $11,
         header_names = CASE WHEN $12 THEN $13::text[] ELSE header_names END,
         headers = CASE WHEN $12 THEN $14::bytea ELSE headers END,
         headers_key = CASE WHEN $12 THEN $15 ELSE headers_key END,
         failing_since = CASE WHEN $16 THEN NULL ELSE failing_since END,
         notices = CASE WHEN $16 THEN 0 ELSE notices END,
         version = version + 1, updated_at = clock_timestamp()
     WHERE tenant = $1 AND id = $2
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
      headers !== undefined,
      headers?.names ?? null,
      headers?.sealed?.sealed ?? null,
      headers?.sealed?.key ?? null,
      afresh,
    ],
  );
  return rows[0] as EndpointRow;
}
