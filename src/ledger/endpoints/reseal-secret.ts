import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { SealedColumns } from './endpoint-row.js';
import type { SealedPlace } from './list-sealed-otherwise.js';

/**
 * Puts the same secret, sealed anew, into its row.
 *
 * @param place As it was read: a row that is another by now is left alone.
 * @returns Whether it was put there.
 */
export async function resealSecret(
  sql: Sql,
  schema: SchemaName,
  place: SealedPlace,
  { sealed, key }: SealedColumns,
): Promise<boolean> {
  const { rowCount } = await sql(
    `UPDATE ${schema}.endpoint_secrets SET sealed = $5, sealed_by = $6
     WHERE tenant = $1 AND endpoint = $2 AND id = $3::uuid AND sealed = $4`,
    [place.tenant, place.endpoint, place.secret, place.sealed, sealed, key],
  );
  return rowCount === 1;
}
