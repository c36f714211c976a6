import { OnefoldError } from '../errors.js';
import { adoptedDigest, type StoredResult } from '../workflows/contract.js';
import { type ClaimRequest, recordedOtherwise, rekeyedMeanwhile } from './claim-effect.js';
import { abandonedMeanwhile } from './complete-effect.js';
import type { Sql } from './database.js';
import { type HeldClaim, interval } from './held-claim.js';
import { pausedMeanwhile, pausedNow } from './pauses/paused-now.js';
import { storedResult, travellingResultBytes } from './read-plan.js';
import type { SchemaName } from './schema-name.js';

/** Who asks for which external effect. It is claimed under all the names that it has had. */
export interface ExternalClaimRequest extends Omit<ClaimRequest, 'lockTimeoutMs'> {
  readonly leaseMs: number;
  /** What the idempotency keys of all generations begin with. */
  readonly keyBase: string;
  readonly lineage: string | undefined;
  /** The recipient dedupes on the key, as far as this code declares. */
  readonly forwardsKey: boolean;
}

/** Which event a row stands for, and how it is to the one that asks. */
interface ClaimedBy {
  readonly eventKey: string;
  /** `source/event-id`. */
  readonly event: string;
  readonly sameData: boolean;
}

/** A claim that was taken. */
export type TakenClaim =
  /** Nothing of this effect has happened under this key. */
  | { readonly path: 'claimed'; readonly held: HeldClaim; readonly fence: number; readonly idempotencyKey: string }
  /** An earlier attempt left its outcome unknown; the row still stands for the event of that attempt. */
  | ({
      readonly path: 'in_doubt';
      readonly held: HeldClaim;
      readonly fence: number;
      readonly idempotencyKey: string;
      /** Since the key was first used, ms. */
      readonly keyAgeMs: number;
      /** Every attempt of this generation handed the key to a recipient that dedupes. */
      readonly keyForwarded: boolean;
      /** Since the last attempt that acted can no longer have begun to, ms. */
      readonly settledMs: number;
    } & ClaimedBy)
  /** The call is made and its result known; commit and completion are not. */
  | ({
      readonly path: 'performed';
      readonly held: HeldClaim;
      readonly fence: number;
      /** JSON text. */
      readonly result: string;
    } & ClaimedBy);

/** A claim that could not be taken, and why. */
export type RefusedClaim =
  | { readonly path: 'held'; readonly event: string; readonly leaseLeftMs: number }
  | { readonly path: 'parked'; readonly event: string; readonly fence: number }
  | ({
      readonly path: 'done';
      /** The name it was done under. */
      readonly effect: string;
      readonly fence: number;
      readonly result: StoredResult | undefined;
    } & ClaimedBy);

interface TakenRow {
  effect: string;
  fence: string;
  in_doubt: boolean;
  generation: number;
  key_forwarded: boolean;
  idempotency_key: string;
  result: string | null;
  event_key: string;
  event: string;
  same_data: boolean;
  key_age_ms: number;
  settled_ms: number;
}

/**
 * Takes the right to act on the outside, or says who has it. Done is final, parked waits for a person, and a lease that
 * runs is left alone; what a dead attempt left behind is taken over with the next fence, and said to be in doubt.
 *
 * Leases are counted on the database's clock, read when the row's lock is held: `now()` would be the moment at which the
 * statement began to wait.
 *
 * @returns Undefined where another attempt stood in the way; `readRefusal` says which. With several names the transaction
 * must be rolled back then, since some of the rows may have been taken.
 */
export async function claimExternal(
  sql: Sql,
  schema: SchemaName,
  request: ExternalClaimRequest,
): Promise<TakenClaim | undefined> {
  // In the same order everywhere, so that two claims of several names never wait for each other.
  const names = [...new Set(request.names)].sort();
  const lease = `clock_timestamp() + ${interval('$8')}`;
  const { rows } = await sql<TakenRow>(
    `INSERT INTO ${schema}.effects AS c
       (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest,
        lease_until, acting_until, idempotency_key, key_since, lineage, key_forwarded)
     SELECT $1, name, $3, 'claimed', 1, $4, $5, $6, $7, ${lease}, ${lease}, $9 || '-1', clock_timestamp(), $10, $11
     FROM unnest($2::text[]) AS name
     WHERE NOT EXISTS (SELECT 1 FROM ${schema}.events WHERE tenant = $1 AND event_key = $5 AND state = 'abandoned')
       AND NOT ${recordedOtherwise(schema)}
       AND NOT ${pausedNow(schema, '$12')}
     ON CONFLICT (tenant, effect, business_key) DO UPDATE
       SET state = 'claimed', fence = c.fence + 1, owner = EXCLUDED.owner, claimed_at = clock_timestamp(),
           lease_until = ${lease}, lineage = EXCLUDED.lineage,
           in_doubt = c.state <> 'released',
           acting_until = CASE WHEN c.state = 'released' THEN ${lease} ELSE c.acting_until END,
           idempotency_key = CASE WHEN c.state = 'released' THEN $9 || '-' || c.generation ELSE c.idempotency_key END,
           key_since = CASE WHEN c.state = 'released' THEN clock_timestamp() ELSE c.key_since END,
           key_forwarded = CASE WHEN c.state = 'released' THEN EXCLUDED.key_forwarded ELSE c.key_forwarded END,
           event_key = CASE WHEN c.state = 'released' THEN EXCLUDED.event_key ELSE c.event_key END,
           event = CASE WHEN c.state = 'released' THEN EXCLUDED.event ELSE c.event END,
           data_digest = CASE WHEN c.state = 'released' THEN EXCLUDED.data_digest ELSE c.data_digest END
       WHERE c.state = 'released'
          OR (c.state IN ('unknown', 'performed') AND (c.lease_until IS NULL OR c.lease_until <= clock_timestamp()))
          OR (c.state = 'claimed' AND c.lease_until <= clock_timestamp())
     RETURNING effect, fence, in_doubt, generation, key_forwarded, idempotency_key, result, event_key, event, data_digest = $7 AS same_data,
               (extract(epoch FROM clock_timestamp() - key_since) * 1000)::float8 AS key_age_ms,
               (extract(epoch FROM clock_timestamp() - acting_until) * 1000)::float8 AS settled_ms`,
    [
      request.tenant,
      names,
      request.businessKey,
      request.owner,
      request.eventKey,
      request.event,
      request.dataDigest,
      request.leaseMs,
      request.keyBase,
      request.lineage ?? null,
      request.forwardsKey,
      request.source,
    ],
  );
  if (rows.length < names.length) return undefined;
  const row = tellingRow(rows, request.effect);
  if (names.length > 1) await alignNames(sql, schema, request, row.effect);
  const held: HeldClaim = {
    tenant: request.tenant,
    businessKey: request.businessKey,
    owner: request.owner,
    rows: rows.map(({ effect, fence }) => ({ effect, fence: Number(fence) })),
  };
  const fence = Number(row.fence);
  const by = { eventKey: row.event_key, event: row.event, sameData: row.same_data };
  if (row.result !== null) return { path: 'performed', held, fence, result: row.result, ...by };
  const { idempotency_key: idempotencyKey, key_age_ms: keyAgeMs, settled_ms: settledMs } = row;
  return row.in_doubt
    ? { path: 'in_doubt', held, fence, idempotencyKey, keyAgeMs, keyForwarded: row.key_forwarded, settledMs, ...by }
    : { path: 'claimed', held, fence, idempotencyKey };
}

/** Of several names: the row that knows most of what happened, else the one with the latest key, else the ledger's own. */
function tellingRow(rows: readonly TakenRow[], own: string): TakenRow {
  const ranked = [...rows].sort((left, right) => rank(right) - rank(left));
  const most = ranked.filter((row) => rank(row) === rank(ranked[0] as TakenRow));
  const latest = Math.max(...most.map(({ generation }) => generation));
  const told = most.filter(({ generation }) => generation === latest);
  return (told.find(({ effect }) => effect === own) ?? told[0]) as TakenRow;
}

function rank({ result, in_doubt }: TakenRow): number {
  return result !== null ? 2 : in_doubt ? 1 : 0;
}

/**
 * Makes all rows of a renamed effect say what the telling one says. They were written by workers that knew one name or the
 * other, and from here on an attempt that vanishes leaves all of them in doubt: each must then lead to the same key.
 */
async function alignNames(sql: Sql, schema: SchemaName, request: ExternalClaimRequest, telling: string): Promise<void> {
  const columns = ['in_doubt', 'generation', 'idempotency_key', 'key_since', 'key_forwarded', 'acting_until', 'result'];
  const copied = [...columns, 'event_key', 'event', 'data_digest'].map((column) => `${column} = t.${column}`);
  await sql(
    `UPDATE ${schema}.effects AS c SET ${copied.join(', ')}
     FROM ${schema}.effects AS t
     WHERE c.tenant = $1 AND c.business_key = $2 AND c.owner = $3 AND c.effect = ANY($4) AND c.effect <> $5
       AND t.tenant = $1 AND t.business_key = $2 AND t.owner = $3 AND t.effect = $5`,
    [request.tenant, request.businessKey, request.owner, request.names, telling],
  );
}

/**
 * Says what stood in the way of a claim. A second statement, since READ COMMITTED shows the winner's row only to a
 * statement that begins after its commit.
 *
 * @returns Undefined where nothing does any more: claim again.
 * @throws {OnefoldError} `abandoned` when a person has abandoned the event; `keys_differ` when one has given it another key.
 * @throws {OnefoldError} `effect_paused` while a person has paused the effect or its source: then nothing begins, nor is a
 * known result committed. What is done, or waits for a person, is told as that.
 * @throws {OnefoldError} `claim_without_completion` when the row is that of a local write whose transaction was split.
 */
export async function readRefusal(
  sql: Sql,
  schema: SchemaName,
  request: ExternalClaimRequest,
): Promise<RefusedClaim | undefined> {
  const { rows } = await sql<{
    abandoned: boolean;
    rekeyed: boolean;
    paused: boolean;
    effect: string | null;
    state: string | null;
    fence: string;
    event_key: string;
    event: string;
    same_data: boolean;
    lease_left_ms: number | null;
    result: string | null;
    result_bytes: number | null;
  }>(
    `SELECT EXISTS (SELECT 1 FROM ${schema}.events WHERE tenant = $1 AND event_key = $5 AND state = 'abandoned') AS abandoned,
            ${recordedOtherwise(schema)} AS rekeyed,
            ${pausedNow(schema, '$6')} AS paused,
            d.effect, d.state, d.fence, d.event_key, d.event, d.data_digest IN ($4, '${adoptedDigest}') AS same_data,
            (extract(epoch FROM d.lease_until - clock_timestamp()) * 1000)::float8 AS lease_left_ms,
            octet_length(d.result) AS result_bytes,
            CASE WHEN octet_length(d.result) <= ${travellingResultBytes} THEN d.result END AS result
     FROM (SELECT 1) AS one
     LEFT JOIN ${schema}.effects d ON d.tenant = $1 AND d.effect = ANY($2) AND d.business_key = $3
     ORDER BY d.state = 'done' DESC NULLS LAST, d.state = 'parked' DESC NULLS LAST, d.lease_until DESC NULLS LAST LIMIT 1`,
    [request.tenant, request.names, request.businessKey, request.dataDigest, request.eventKey, request.source],
  );
  const [row] = rows;
  if (row?.abandoned) throw abandonedMeanwhile();
  if (row?.rekeyed) throw rekeyedMeanwhile();
  if (!row) return undefined;
  if (row.paused && row.state !== 'done' && row.state !== 'parked') throw pausedMeanwhile();
  if (row.effect === null) return undefined;
  const { event, event_key: eventKey, same_data: sameData } = row;
  const fence = Number(row.fence);
  if (row.state === 'done') {
    const result = storedResult(row.result, row.result_bytes);
    return { path: 'done', effect: row.effect, fence, eventKey, event, sameData, result };
  }
  if (row.state === 'parked') return { path: 'parked', event, fence };
  if (row.lease_left_ms === null && row.state === 'claimed') {
    throw new OnefoldError(
      'claim_without_completion',
      'the ledger holds a claim from when this effect was a local write, without its completion: look at the business tables',
    );
  }
  return row.lease_left_ms !== null && row.lease_left_ms > 0
    ? { path: 'held', event, leaseLeftMs: row.lease_left_ms }
    : undefined;
}
