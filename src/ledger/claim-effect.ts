import { OnefoldError } from '../errors.js';
import type { BusinessKey } from '../identity/business-identity.js';
import type { StoredResult } from '../workflows/contract.js';
import type { Sql } from './database.js';
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
  | { readonly path: 'claimed'; readonly fence: number; readonly transaction: string }
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
 * @throws {OnefoldError} `claim_without_completion` when a committed claim stands without its completion, which only a
 * transaction that was split can leave behind.
 * @throws PostgreSQL's 55P03 when another transaction holds the same key for longer than the lock timeout.
 * @see PostgreSQL manual, INSERT, ON CONFLICT: of two parallel inserts of one key one waits for the other's end.
 */
export async function claimEffect(sql: Sql, schema: SchemaName, request: ClaimRequest): Promise<Claim> {
  const { rows } = await sql<{ fence: string; transaction: string }>(
    `INSERT INTO ${schema}.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest)
     SELECT $1, $2, $3, 'claimed', 1, $4, $5, $6, $7
     WHERE NOT EXISTS (SELECT 1 FROM ${schema}.effects
                       WHERE tenant = $1 AND effect = ANY($9) AND business_key = $3 AND state = 'done')
     ON CONFLICT (tenant, effect, business_key) DO NOTHING
     RETURNING fence, pg_current_xact_id()::text AS transaction, set_config('lock_timeout', $8, true)`,
    [
      request.tenant,
      request.effect,
      request.businessKey,
      request.owner,
      request.eventKey,
      request.event,
      request.dataDigest,
      String(Math.ceil(request.lockTimeoutMs)),
      request.names.filter((name) => name !== request.effect),
    ],
  );
  const [claimed] = rows;
  if (claimed) return { path: 'claimed', fence: Number(claimed.fence), transaction: claimed.transaction };
  return readCompletion(sql, schema, request);
}

/** A second statement, since READ COMMITTED shows the winner's row only to a statement that begins after its commit. */
async function readCompletion(sql: Sql, schema: SchemaName, request: ClaimRequest): Promise<Claim> {
  const { rows } = await sql<{
    effect: string;
    state: 'claimed' | 'done';
    fence: string;
    event_key: string;
    event: string;
    same_data: boolean;
    result: string | null;
    result_bytes: number | null;
  }>(
    `SELECT effect, state, fence, event_key, event, data_digest = $4 AS same_data, octet_length(result) AS result_bytes,
            CASE WHEN octet_length(result) <= ${travellingResultBytes} THEN result END AS result
     FROM ${schema}.effects WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3
     ORDER BY state = 'done' DESC, effect = $5 DESC LIMIT 1`,
    [request.tenant, request.names, request.businessKey, request.dataDigest, request.effect],
  );
  const [row] = rows;
  if (row?.state !== 'done') {
    throw new OnefoldError(
      'claim_without_completion',
      'the ledger holds a claim of this local write without its completion: its transaction was split, so look at the business tables',
    );
  }
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
