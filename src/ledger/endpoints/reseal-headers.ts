import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { SealedColumns } from './endpoint-row.js';
import type { SealedPlace } from './list-sealed-otherwise.js';

/**
 * Puts the same headers, sealed anew, into the row of their endpoint. No change of it: its version stays.
 *
 * @param place As it was read: headers that are others by now are left alone.
 * @returns Whether they were put there.
 */
export async function resealHeaders(
  sql: Sql,
  schema: SchemaName,
  place: SealedPlace,
  { sealed, key }: SealedColumns,
): Promise<boolean> {
  const { rowCount } = await sql(
    `UPDATE ${schema}.endpoints SET headers = $4, headers_key = $5
     WHERE tenant = $1 AND id = $2 AND headers = $3`,
    [place.tenant, place.endpoint, place.sealed, sealed, key],
  );
  return rowCount === 1;
}
