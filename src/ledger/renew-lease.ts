import type { Sql } from './database.js';
import { type HeldClaim, heldValues, interval, updateHeld } from './held-claim.js';
import type { SchemaName } from './schema-name.js';

/**
 * Renews the lease of a claim, which proves at the same time that it is still held.
 *
 * @param acting The attempt acts, or is just about to: from then on its request may be under way.
 * @returns False where it was taken meanwhile.
 */
export async function renewLease(
  sql: Sql,
  schema: SchemaName,
  claim: HeldClaim,
  { leaseMs, acting }: { readonly leaseMs: number; readonly acting: boolean },
): Promise<boolean> {
  const { rowCount } = await sql(
    updateHeld(
      schema,
      `lease_until = clock_timestamp() + ${interval('$6')},
       acting_until = CASE WHEN $7::boolean THEN clock_timestamp() + ${interval('$6')} ELSE acting_until END`,
    ),
    [...heldValues(claim), leaseMs, acting],
  );
  return rowCount === claim.rows.length;
}
