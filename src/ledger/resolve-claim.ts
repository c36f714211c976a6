import type { Sql } from './database.js';
import type { ClaimIdentity } from './read-claim.js';
import type { SchemaName } from './schema-name.js';

/** What a person's word makes of a claim. */
export type ResolvedAs =
  /** It happened. `performed` where its commit is still to be done, which the next claim does. */
  | { readonly state: 'done' | 'performed' /** JSON text. */; readonly result: string }
  /** It did not happen: the next claim performs it, under a new key. */
  | { readonly state: 'released' };

/**
 * Puts a person's word in the place of an unknown outcome, under every name that the effect has had. The next fence makes
 * an attempt that comes back find nothing of its own. Only for rows that the transaction holds and has read: what is done
 * or released is left alone, but a running lease is not looked at again.
 */
export async function resolveClaim(
  sql: Sql,
  schema: SchemaName,
  { tenant, names, businessKey }: ClaimIdentity,
  resolved: ResolvedAs,
): Promise<void> {
  const released = "$4::text = 'released'";
  await sql(
    `UPDATE ${schema}.effects
     SET state = $4::text, fence = fence + 1, in_doubt = false, result = $5,
         lease_until = CASE WHEN $4::text = 'performed' THEN clock_timestamp() END,
         done_at = CASE WHEN $4::text = 'done' THEN clock_timestamp() END,
         acting_until = CASE WHEN ${released} THEN NULL ELSE acting_until END,
         generation = generation + CASE WHEN ${released} THEN 1 ELSE 0 END,
         idempotency_key = CASE WHEN ${released} THEN NULL ELSE idempotency_key END,
         key_since = CASE WHEN ${released} THEN NULL ELSE key_since END
     WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3 AND state NOT IN ('done', 'released')`,
    [tenant, names, businessKey, resolved.state, resolved.state === 'released' ? null : resolved.result],
  );
}
