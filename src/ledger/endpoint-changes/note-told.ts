import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { UntoldEndpoint } from './take-untold.js';

/**
 * Notes up to which version of an endpoint the deliveries under way have been told. It never goes back. The lease ends, so
 * that a version which came about meanwhile is told at once.
 */
export async function noteTold(
  sql: Sql,
  schema: SchemaName,
  told: Pick<UntoldEndpoint, 'tenant' | 'endpoint' | 'version'>,
): Promise<void> {
  await sql(
    `UPDATE ${schema}.endpoints SET told_version = $3::bigint, told_after = '', told_lease = '-infinity'
     WHERE tenant = $1 AND id = $2 AND told_version < $3::bigint`,
    [told.tenant, told.endpoint, told.version],
  );
}
