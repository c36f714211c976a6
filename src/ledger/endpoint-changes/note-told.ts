import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { UntoldEndpoint } from './list-untold.js';

/** Notes up to which version of an endpoint the deliveries under way have been told. It never goes back. */
export async function noteTold(sql: Sql, schema: SchemaName, told: UntoldEndpoint): Promise<void> {
  await sql(
    `UPDATE ${schema}.endpoints SET told_version = $3::bigint
     WHERE tenant = $1 AND id = $2 AND told_version < $3::bigint`,
    [told.tenant, told.endpoint, told.version],
  );
}
