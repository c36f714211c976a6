import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type EndpointRef, type EndpointRow, endpointColumns } from './endpoint-row.js';

/**
 * Reads an endpoint and holds its row until the transaction ends, so that of two changes at once the second sees the
 * first. Statements after it see what the one that it waited for has committed.
 */
export async function lockEndpoint(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
): Promise<EndpointRow | undefined> {
  const { rows } = await sql<EndpointRow>(
    `SELECT ${endpointColumns} FROM ${schema}.endpoints WHERE tenant = $1 AND id = $2 FOR UPDATE`,
    [tenant, id],
  );
  return rows[0];
}
