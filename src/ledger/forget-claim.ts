import type { Sql } from './database.js';
import type { ClaimIdentity } from './read-claim.js';
import type { SchemaName } from './schema-name.js';

/**
 * Removes a claim that a split transaction of a local write left without its completion, after a person has said that
 * nothing was written. A local write claims by inserting, so there is no released state for it.
 */
export async function forgetClaim(
  sql: Sql,
  schema: SchemaName,
  { tenant, names, businessKey }: ClaimIdentity,
): Promise<void> {
  await sql(
    `DELETE FROM ${schema}.effects WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3 AND state <> 'done'`,
    [tenant, names, businessKey],
  );
}
