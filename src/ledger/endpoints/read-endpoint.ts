import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type EndpointRef, type EndpointRow, endpointColumns } from './endpoint-row.js';

/**
 * Reads an endpoint of a tenant, a removed one too.
 *
 * @returns Undefined where the tenant has none of that id, whoever else may have one.
 */
export async function readEndpoint(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
): Promise<EndpointRow | undefined> {
  const { rows } = await sql<EndpointRow>(
    `SELECT ${endpointColumns} FROM ${schema}.endpoints WHERE tenant = $1 AND id = $2`,
    [tenant, id],
  );
  return rows[0];
}
