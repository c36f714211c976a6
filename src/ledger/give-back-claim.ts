import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Gives a claim back as it was taken, by an attempt that did not come to act under it: free where nothing had happened,
 * as doubtful as before where something may have. The key stays, since nobody was sent it.
 *
 * Goes by the owner alone, which is fresh in every execution: it also undoes a claim whose COMMIT took hold although its
 * answer was lost, so that nobody takes a call for unknown that was never made.
 *
 * @returns Whether there was one.
 */
export async function giveBackClaim(
  sql: Sql,
  schema: SchemaName,
  claim: {
    readonly tenant: string;
    readonly names: readonly string[];
    readonly businessKey: string;
    readonly owner: string;
  },
): Promise<boolean> {
  const { rowCount } = await sql(
    `UPDATE ${schema}.effects
     SET state = CASE WHEN result IS NOT NULL THEN 'performed' WHEN in_doubt THEN 'unknown' ELSE 'released' END,
         lease_until = CASE WHEN result IS NOT NULL OR in_doubt THEN clock_timestamp() END,
         acting_until = CASE WHEN in_doubt THEN acting_until END,
         key_since = CASE WHEN in_doubt THEN key_since END
     WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3 AND owner = $4 AND state = 'claimed'`,
    [claim.tenant, claim.names, claim.businessKey, claim.owner],
  );
  return rowCount > 0;
}
