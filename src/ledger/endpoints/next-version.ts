import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type EndpointRef, type EndpointRow, endpointColumns } from './endpoint-row.js';

/** Counts a change of an endpoint that does not stand in its own row, such as one of its secrets. */
export async function nextVersion(sql: Sql, schema: SchemaName, { tenant, id }: EndpointRef): Promise<EndpointRow> {
  const { rows } = await sql<EndpointRow>(
    `UPDATE ${schema}.endpoints SET version = version + 1, updated_at = clock_timestamp()
     WHERE tenant = $1 AND id = $2
     RETURNING ${endpointColumns}`,
    [tenant, id],
  );
  return rows[0] as EndpointRow;
}
