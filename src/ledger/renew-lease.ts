import type { Sql } from './database.js';
import { type HeldClaim, heldValues, interval, updateHeld } from './held-claim.js';
import type { SchemaName } from './schema-name.js';

/** What a renewal says of the attempt. */
export interface Renewal {
  readonly leaseMs: number;
  /** The attempt acts, or is just about to: from then on its request may be under way. */
  readonly acting: boolean;
  /** What it sends is deduped by the recipient, as far as this code declares. */
  readonly forwardsKey: boolean;
}

/**
 * Renews the lease of a claim, which proves at the same time that it is still held.
 *
 * @returns False where it was taken meanwhile.
 */
export async function renewLease(
  sql: Sql,
  schema: SchemaName,
  claim: HeldClaim,
  { leaseMs, acting, forwardsKey }: Renewal,
): Promise<boolean> {
  const { rowCount } = await sql(
    updateHeld(
      schema,
      `lease_until = clock_timestamp() + ${interval('$6')},
       acting_until = CASE WHEN $7::boolean THEN clock_timestamp() + ${interval('$6')} ELSE acting_until END,
       key_forwarded = key_forwarded AND (NOT $7::boolean OR $8::boolean)`,
    ),
    [...heldValues(claim), leaseMs, acting, forwardsKey],
  );
  return rowCount === claim.rows.length;
}
