import type { Sql } from './database.js';
import type { ClaimIdentity } from './read-claim.js';
import type { SchemaName } from './schema-name.js';

/**
 * Holds every row of a business identity until the transaction ends. A statement after it sees what another transaction
 * committed meanwhile, and reads the clock once the wait is over. In the order in which claims of several names are taken,
 * so that neither waits for the other for ever.
 */
export async function lockClaim(
  sql: Sql,
  schema: SchemaName,
  { tenant, names, businessKey }: ClaimIdentity,
): Promise<void> {
  await sql(
    `SELECT 1 FROM ${schema}.effects WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3
     ORDER BY effect COLLATE "C" FOR UPDATE`,
    [tenant, names, businessKey],
  );
}
