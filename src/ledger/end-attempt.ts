import type { Sql } from './database.js';
import { type HeldClaim, heldValues, interval, updateHeld } from './held-claim.js';
import type { SchemaName } from './schema-name.js';

/**
 * Releases a claim: nothing was done, for certain. Some recipients replay a stored failure for a known key, so the next
 * attempt gets a new generation of it.
 *
 * @returns False where the claim was taken meanwhile.
 */
export async function releaseClaim(sql: Sql, schema: SchemaName, claim: HeldClaim): Promise<boolean> {
  const { rowCount } = await sql(
    updateHeld(
      schema,
      `state = 'released', in_doubt = false, lease_until = NULL, acting_until = NULL, key_since = NULL,
       idempotency_key = NULL, generation = generation + 1`,
    ),
    heldValues(claim),
  );
  return rowCount === claim.rows.length;
}

/** How an attempt that leaves its outcome unknown has ended. */
export interface LeftUnknown {
  /** It called the recipient. False where it only asked, or never came to it: what was known of earlier ones stands. */
  readonly acted: boolean;
  /** How long its code may still be running, ms: 0 where it has ended. At most the rest of the lease. */
  readonly stillRunningMs: number;
}

/**
 * Leaves the outcome of a claim unknown, for the next attempt to recover. The lease ends with the code that it protects.
 *
 * @returns False where the claim was taken meanwhile.
 */
export async function leaveUnknown(
  sql: Sql,
  schema: SchemaName,
  claim: HeldClaim,
  { acted, stillRunningMs }: LeftUnknown,
): Promise<boolean> {
  const end = `LEAST(lease_until, clock_timestamp() + ${interval('$6')})`;
  const { rowCount } = await sql(
    updateHeld(
      schema,
      `state = 'unknown', in_doubt = true, lease_until = ${end},
       acting_until = CASE WHEN $7::boolean THEN ${end} ELSE acting_until END`,
    ),
    [...heldValues(claim), stillRunningMs, acted],
  );
  return rowCount === claim.rows.length;
}

/**
 * Parks a claim: a person has to say what happened, and may once the code that still runs has ended.
 *
 * @param stillRunningMs As for {@link LeftUnknown}.
 * @returns False where the claim was taken meanwhile.
 */
export async function parkClaim(
  sql: Sql,
  schema: SchemaName,
  claim: HeldClaim,
  stillRunningMs: number,
): Promise<boolean> {
  const { rowCount } = await sql(
    updateHeld(
      schema,
      `state = 'parked', in_doubt = true, lease_until = LEAST(lease_until, clock_timestamp() + ${interval('$6')})`,
    ),
    [...heldValues(claim), stillRunningMs],
  );
  return rowCount === claim.rows.length;
}

/**
 * Keeps the result of a call whose commit or completion failed, so that the next attempt does only these.
 *
 * @param result JSON text.
 * @returns False where the claim is not held any more: it was taken, or the completion is in after all.
 */
export async function keepPerformed(sql: Sql, schema: SchemaName, claim: HeldClaim, result: string): Promise<boolean> {
  const { rowCount } = await sql(
    updateHeld(schema, `state = 'performed', result = $6, lease_until = clock_timestamp()`),
    [...heldValues(claim), result],
  );
  return rowCount === claim.rows.length;
}
