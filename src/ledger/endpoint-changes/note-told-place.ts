import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { UntoldEndpoint } from './take-untold.js';

/**
 * Notes the last publication that was told of a version, and sets the lease of the telling anew: 0 gives it back. A place
 * never goes back, whoever else has been telling meanwhile.
 *
 * @param leaseMs From now on, ms.
 */
export async function noteToldPlace(
  sql: Sql,
  schema: SchemaName,
  told: UntoldEndpoint,
  leaseMs: number,
): Promise<void> {
  await sql(
    `UPDATE ${schema}.endpoints e
     SET told_after = greatest(e.told_after, $4), told_lease = clock_timestamp() + $5 * interval '1 millisecond'
     WHERE e.tenant = $1 AND e.id = $2 AND e.told_for = $3::bigint`,
    [told.tenant, told.endpoint, told.version, told.after, leaseMs],
  );
}
