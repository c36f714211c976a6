import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { EndpointRef, SealedColumns } from './endpoint-row.js';

/** Reads the extra headers of an endpoint; undefined where it has none. */
export async function readSealedHeaders(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
): Promise<SealedColumns | undefined> {
  const { rows } = await sql<SealedColumns>(
    `SELECT headers AS sealed, headers_key AS key FROM ${schema}.endpoints
     WHERE tenant = $1 AND id = $2 AND headers IS NOT NULL`,
    [tenant, id],
  );
  return rows[0];
}
