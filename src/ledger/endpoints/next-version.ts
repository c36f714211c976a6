import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type EndpointRef, type EndpointRow, endpointColumns } from './endpoint-row.js';

/**
 * Counts a change of an endpoint's secrets, which do not stand in its own row. It begins afresh, since a wrong secret may be
 * all that was wrong.
 */
export async function nextVersion(sql: Sql, schema: SchemaName, { tenant, id }: EndpointRef): Promise<EndpointRow> {
  const { rows } = await sql<EndpointRow>(
    `UPDATE ${schema}.endpoints SET version = version + 1, updated_at = clock_timestamp(), failing_since = NULL, notices = 0
     WHERE tenant = $1 AND id = $2
     RETURNING ${endpointColumns}`,
    [tenant, id],
  );
  return rows[0] as EndpointRow;
}
