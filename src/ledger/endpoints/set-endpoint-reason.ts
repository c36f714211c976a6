import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type EndpointRef, type EndpointRow, endpointColumns } from './endpoint-row.js';

/**
 * Gives another reason for the state of an endpoint whose row the transaction holds. Its version stays, since nothing changes
 * for its deliveries.
 */
export async function setEndpointReason(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  reason: string,
): Promise<EndpointRow> {
  const { rows } = await sql<EndpointRow>(
    `UPDATE ${schema}.endpoints SET state_reason = $3, updated_at = clock_timestamp()
     WHERE tenant = $1 AND id = $2 RETURNING ${endpointColumns}`,
    [tenant, id, reason],
  );
  return rows[0] as EndpointRow;
}
