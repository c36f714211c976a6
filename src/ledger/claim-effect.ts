import { OnefoldError } from '../errors.js';
import type { BusinessKey } from '../identity/business-identity.js';
import { adoptedDigest, type StoredResult } from '../workflows/contract.js';
import { abandonedMeanwhile } from './complete-effect.js';
import type { Sql } from './database.js';
import { pausedMeanwhile, pausedNow } from './pauses/paused-now.js';
import { storedResult, travellingResultBytes } from './read-plan.js';
import type { SchemaName } from './schema-name.js';

/** Who asks for which effect. */
export interface ClaimRequest {
  readonly tenant: string;
  readonly effect: string;
  /** Every name that the effect has had: what is done under one of them is done. */
  readonly names: readonly string[];
  readonly businessKey: BusinessKey;
  readonly eventKey: string;
  readonly source: string;
  /** `source/event-id`, for people. */
  readonly event: string;
  /** Digest of the event's data, so that another event with other data on the same key is noticed. */
  readonly dataDigest: string;
  /** A fresh UUID per execution. */
  readonly owner: string;
  /** lock_timeout for the rest of the transaction, in ms, once the claim is held. */
  readonly lockTimeoutMs: number;
}

/** The right to run, or the record of who did. */
export type Claim =
  | {
      readonly path: 'claimed';
      readonly fence: number;
      /** Of the rows under all names; the completion is to find them so. */
      readonly fences: readonly number[];
      readonly transaction: string;
    }
  | {
      readonly path: 'done';
      /** The name it was done under. */
      readonly effect: string;
      readonly fence: number;
      readonly eventKey: string;
      readonly event: string;
      readonly sameData: boolean;
      readonly result: StoredResult | undefined;
    };

/**
 * Takes the right to run a local write, inside its transaction, or says who did it. Done is final: no statement of
 * Onefold changes a completed row, whatever lease or time has passed.
 *
 * A renamed effect is claimed under every name it has had, so that the primary key decides between it and a worker that
 * knows only one of them, whichever comes first; where it has one name, that is one row.
 *
 * @throws {OnefoldError} `abandoned` when a person has abandoned the event, which a reset does not undo.
 * @throws {OnefoldError} `keys_differ` when a replay has given the event another key, which a reset does not undo either.
 * @throws {OnefoldError} `effect_paused` while a person has paused the effect or its source. What is done is found done all
 * the same.
 * @throws {OnefoldError} `claim_without_completion` when a committed claim stands without its completion, which only a
 * transaction that was split can leave behind.
 * @throws PostgreSQL's 55P03 when another transaction holds the same key for longer than the lock timeout.
 * @see PostgreSQL manual, INSERT, ON CONFLICT: of two parallel inserts of one key one waits for the other's end.
 */
export async function claimEffect(sql: Sql, schema: SchemaName, request: ClaimRequest): Promise<Claim> {
  // In the same order everywhere, so that two claims of several names never wait for each other.
  const names = [...new Set(request.names)].sort();
  const { rows } = await sql<{ fence: string; transaction: string }>(
    `INSERT INTO ${schema}.effects AS c
       (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest)
     SELECT $1, name, $3, 'claimed', 1, $4, $5, $6, $7 FROM unnest($2::text[]) AS name
     WHERE NOT EXISTS (SELECT 1 FROM ${schema}.effects
                       WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3 AND state = 'done')
       AND NOT EXISTS (SELECT 1 FROM ${schema}.events WHERE tenant = $1 AND event_key = $5 AND state = 'abandoned')
       AND NOT ${recordedOtherwise(schema)}
       AND NOT ${pausedNow(schema, '$9')}
     ON CONFLICT (tenant, effect, business_key) DO UPDATE
       SET state = 'claimed', fence = c.fence + 1, owner = EXCLUDED.owner, event_key = EXCLUDED.event_key,
           event = EXCLUDED.event, data_digest = EXCLUDED.data_digest, claimed_at = clock_timestamp()
       -- From when the effect was an external one: nothing was done, for certain.
       WHERE c.state = 'released'
     RETURNING fence, pg_current_xact_id()::text AS transaction, set_config('lock_timeout', $8, true)`,
    [
      request.tenant,
      names,
      request.businessKey,
      request.owner,
      request.eventKey,
      request.event,
      request.dataDigest,
      String(Math.ceil(request.lockTimeoutMs)),
      request.source,
    ],
  );
  const [claimed] = rows;
  if (claimed && rows.length === names.length) {
    const fences = rows.map(({ fence }) => Number(fence));
    return { path: 'claimed', fence: Number(claimed.fence), fences, transaction: claimed.transaction };
  }
  if (claimed) await takeBack(sql, schema, request);
  return readCompletion(sql, schema, request);
}

/**
 * Whether the event is recorded under another business key than the one asked for: an attempt of a run from before a replay
 * that changed it, which would do again what the new key does. Parameters $1 to $3 and $5 are tenant, names, key and event.
 */
export function recordedOtherwise(schema: SchemaName): string {
  return `EXISTS (SELECT 1 FROM ${schema}.event_effects
                      WHERE tenant = $1 AND event_key = $5 AND effect = ANY($2) AND business_key <> $3)`;
}

/** The error of an attempt from before its event was given another key. */
export function rekeyedMeanwhile(): OnefoldError {
  return new OnefoldError('keys_differ', 'a replay has given this event another business key since it was planned');
}

function unfinishedClaim(isLocal: boolean): OnefoldError {
  return new OnefoldError(
    'claim_without_completion',
    isLocal
      ? 'the ledger holds a claim of this local write without its completion: its transaction was split, so look at the business tables'
      : 'the ledger holds a call from when this effect was an external one, and its outcome is unknown: say what became of it with onefold resolve',
  );
}

/**
 * Takes back the claims under some of the names, after another worker committed under one of the others. Savepoints would
 * cost every claim two round trips.
 */
async function takeBack(sql: Sql, schema: SchemaName, request: ClaimRequest): Promise<void> {
  await sql(
    `DELETE FROM ${schema}.effects
     WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3 AND owner = $4 AND state = 'claimed'`,
    [request.tenant, request.names, request.businessKey, request.owner],
  );
}

/** A second statement, since READ COMMITTED shows the winner's row only to a statement that begins after its commit. */
async function readCompletion(sql: Sql, schema: SchemaName, request: ClaimRequest): Promise<Claim> {
  const { rows } = await sql<{
    abandoned: boolean;
    rekeyed: boolean;
    paused: boolean;
    effect: string;
    state: string | null;
    lease_until: Date | null;
    fence: string;
    event_key: string;
    event: string;
    same_data: boolean;
    result: string | null;
    result_bytes: number | null;
  }>(
    `SELECT EXISTS (SELECT 1 FROM ${schema}.events WHERE tenant = $1 AND event_key = $5 AND state = 'abandoned') AS abandoned,
            ${recordedOtherwise(schema)} AS rekeyed,
            ${pausedNow(schema, '$7')} AS paused,
            d.effect, d.state, d.lease_until, d.fence, d.event_key, d.event, d.data_digest IN ($4, '${adoptedDigest}') AS same_data,
            octet_length(d.result) AS result_bytes,
            CASE WHEN octet_length(d.result) <= ${travellingResultBytes} THEN d.result END AS result
     FROM (SELECT 1) AS one
     LEFT JOIN ${schema}.effects d ON d.tenant = $1 AND d.effect = ANY($2) AND d.business_key = $3
     ORDER BY d.state = 'done' DESC NULLS LAST, d.effect = $6 DESC LIMIT 1`,
    [
      request.tenant,
      request.names,
      request.businessKey,
      request.dataDigest,
      request.eventKey,
      request.effect,
      request.source,
    ],
  );
  const [row] = rows;
  if (row?.abandoned) throw abandonedMeanwhile();
  if (row?.rekeyed) throw rekeyedMeanwhile();
  // Where nothing stands in the way by now, it was paused when the claim was refused, and has been resumed since.
  const isFree = row?.state === null || row?.state === 'released';
  if (row?.state !== 'done' && (row?.paused || isFree)) throw pausedMeanwhile();
  if (row?.state !== 'done') throw unfinishedClaim(row?.state === 'claimed' && row.lease_until === null);
  return {
    path: 'done',
    effect: row.effect,
    fence: Number(row.fence),
    eventKey: row.event_key,
    event: row.event,
    sameData: row.same_data,
    result: storedResult(row.result, row.result_bytes),
  };
}
