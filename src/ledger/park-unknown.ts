import type { Sql } from './database.js';
import type { ClaimIdentity } from './read-claim.js';
import type { SchemaName } from './schema-name.js';

/** What the ledger has of an effect that is to be given up. */
export type GivenUpClaim =
  /** Its outcome was unknown: a person has to say what happened. */
  | { readonly state: 'parked' }
  /** Never claimed, or released: nothing was done. Or a local write, whose transaction decides. */
  | { readonly state: 'nothing_unknown' }
  /** The call is made and its result known; its commit is not. */
  | { readonly state: 'performed' }
  | { readonly state: 'done' }
  /** An attempt holds it, or has vanished: only when its lease is over can it be told. */
  | { readonly state: 'leased'; readonly leaseLeftMs: number };

/**
 * Parks an effect that is given up, where its outcome is unknown; everywhere else it changes nothing, and says how the row
 * stands. A lease that still runs under code which was given up goes on protecting the row from a person's word.
 *
 * @param onlyOf Key of the event whose work it must be; what another event has begun is not looked at then. Default: any.
 */
export async function parkUnknown(
  sql: Sql,
  schema: SchemaName,
  { tenant, names, businessKey }: ClaimIdentity,
  onlyOf?: string,
): Promise<GivenUpClaim> {
  const { rows } = await sql<{ state: GivenUpClaim['state'] | 'unknown'; leaseLeftMs: number | null }>(
    // Locked first: what an attempt that is just ending writes is waited for, and then seen.
    `WITH held AS (
       SELECT effect, state, result IS NOT NULL AS known, lease_until FROM ${schema}.effects
       WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3 AND event_key = coalesce($4, event_key)
       ORDER BY effect FOR UPDATE
     ), found AS (
       SELECT CASE WHEN bool_or(state = 'done') THEN 'done'
                   WHEN bool_or(state = 'claimed' AND lease_until > clock_timestamp()) THEN 'leased'
                   WHEN bool_or(state = 'parked') THEN 'parked'
                   WHEN bool_or(known) THEN 'performed'
                   WHEN bool_or(state = 'unknown' OR (state = 'claimed' AND lease_until IS NOT NULL)) THEN 'unknown'
                   ELSE 'nothing_unknown' END AS state,
              (extract(epoch FROM max(lease_until) FILTER (WHERE state = 'claimed') - clock_timestamp()) * 1000)::float8
                AS "leaseLeftMs"
       FROM held
     ), parked AS (
       UPDATE ${schema}.effects AS c
       SET state = 'parked', fence = fence + 1, in_doubt = true,
           lease_until = CASE WHEN c.lease_until > clock_timestamp() THEN c.lease_until END
       FROM held, found
       WHERE c.tenant = $1 AND c.effect = held.effect AND c.business_key = $3
         AND found.state = 'unknown' AND held.state IN ('unknown', 'claimed')
     )
     SELECT state, "leaseLeftMs" FROM found`,
    [tenant, names, businessKey, onlyOf ?? null],
  );
  const { state = 'nothing_unknown', leaseLeftMs } = rows[0] ?? {};
  if (state === 'leased') return { state, leaseLeftMs: Math.max(0, Math.ceil(leaseLeftMs ?? 0)) };
  return { state: state === 'unknown' ? 'parked' : state };
}
