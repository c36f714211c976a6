import type { Sql } from './database.js';
import { type HeldClaim, heldValues, interval, updateHeld } from './held-claim.js';
import type { SchemaName } from './schema-name.js';

/** Whose effect it is from now on. */
export interface NewBegin {
  readonly eventKey: string;
  /** `source/event-id`, for people. */
  readonly event: string;
  readonly dataDigest: string;
  readonly leaseMs: number;
  readonly forwardsKey: boolean;
}

/**
 * Begins an effect anew under a claim that was in doubt, after the recipient said that nothing of it had happened: for the
 * event that holds the claim now, with that event's data. The key stays: should the earlier request arrive after all, a
 * recipient that dedupes still carries out one.
 *
 * @returns False where the claim was taken meanwhile.
 */
export async function beginAnew(sql: Sql, schema: SchemaName, claim: HeldClaim, begin: NewBegin): Promise<boolean> {
  const { rowCount } = await sql(
    updateHeld(
      schema,
      `event_key = $6, event = $7, data_digest = $8, in_doubt = false, key_forwarded = key_forwarded AND $10::boolean,
       lease_until = clock_timestamp() + ${interval('$9')}, acting_until = clock_timestamp() + ${interval('$9')}`,
    ),
    [...heldValues(claim), begin.eventKey, begin.event, begin.dataDigest, begin.leaseMs, begin.forwardsKey],
  );
  return rowCount === claim.rows.length;
}
