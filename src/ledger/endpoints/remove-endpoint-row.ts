import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type EndpointRef, type EndpointRow, endpointColumns } from './endpoint-row.js';

/**
 * Marks an endpoint whose row the transaction holds as removed, and deletes what only sending needs: its secrets, its
 * headers, its slots and its pace. The row stays, since publications refer to it.
 */
export async function removeEndpointRow(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  reason: string | null,
): Promise<EndpointRow> {
  const { rows } = await sql<EndpointRow>(
    `WITH secrets AS (DELETE FROM ${schema}.endpoint_secrets WHERE tenant = $1 AND endpoint = $2),
          pace AS (DELETE FROM ${schema}.endpoint_pace WHERE tenant = $1 AND endpoint = $2),
          slots AS (DELETE FROM ${schema}.endpoint_slots WHERE tenant = $1 AND endpoint = $2)
     UPDATE ${schema}.endpoints
     SET state = 'removed', state_code = 'by_owner', state_reason = $3, state_at = clock_timestamp(),
         header_names = '{}', headers = NULL, headers_key = NULL, version = version + 1, updated_at = clock_timestamp()
     WHERE tenant = $1 AND id = $2
     RETURNING ${endpointColumns}`,
    [tenant, id, reason],
  );
  return rows[0] as EndpointRow;
}
