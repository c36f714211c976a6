import { displayEvent } from '../identity/event-identity.js';
import {
  claimExternal,
  type ExternalClaimRequest,
  type RefusedClaim,
  readRefusal,
  type TakenClaim,
} from '../ledger/claim-external.js';
import type { Sql } from '../ledger/database.js';
import { judgeVersion, leasedSibling } from '../ledger/judge-version.js';
import { carriedVersion, OlderState } from './carried-version.js';
import { ledgerName, ledgerNames } from './catalogue.js';
import type { AttemptInLedger } from './external-attempt.js';
import { giveBack } from './give-back.js';
import { idempotencyKeyBase } from './idempotency-key.js';
import { leaseMarginMs } from './lease.js';

/** Of the short transactions around a claim, ms. */
const claimLimitMs = 5000;

/** How often a claim is tried again after what stood in its way was gone by the time it was asked about. */
const claimTries = 5;

/** What a claim came to. */
export type AttemptClaim =
  | (TakenClaim & { readonly equalTo?: string })
  | RefusedClaim
  /** A newer state of the lineage was begun. */
  | { readonly path: 'stale'; readonly by: string; readonly inDoubt: boolean };

/** Thrown inside the transaction to roll it back. */
class Refused extends Error {
  constructor(readonly refusal: RefusedClaim | undefined) {
    super('refused');
  }
}

/**
 * How long a lease lasts. The effect's own rule was judged against its timeout of now; an event that was planned before may
 * have a longer one.
 */
export function leaseMsOf({ effect, timeoutMs }: AttemptInLedger['attempt']): number {
  return effect.heartbeatMs === undefined ? Math.max(effect.leaseMs, timeoutMs + leaseMarginMs) : effect.leaseMs;
}

/**
 * Gives back what a claim may have taken although its answer was lost: a call that was never made must not be taken for
 * one whose outcome is unknown. Where PostgreSQL stays away, the lease runs out instead.
 */
async function undoUnanswered(run: AttemptInLedger): Promise<void> {
  await giveBack(run).catch(() => {});
}

/**
 * Takes the claim of an attempt, judging the version of its state where the effect supersedes. One statement, committed by
 * itself, where the effect has one name and no versions.
 *
 * @throws {OnefoldError} `abandoned`, `effect_paused`, `claim_without_completion`, `version_invalid`; `ledger_unavailable`.
 */
export async function claimForAttempt({ ledger, attempt }: AttemptInLedger): Promise<AttemptClaim> {
  const { effect, event, businessKey, eventKey } = attempt;
  const { schema, database } = ledger;
  const names = ledgerNames(effect);
  const version = carriedVersion(effect, event, eventKey);
  const identity = { tenant: event.tenant, effect: ledgerName(effect), businessKey };
  const request: ExternalClaimRequest = {
    ...identity,
    names,
    eventKey,
    source: event.source,
    event: displayEvent(event),
    dataDigest: attempt.dataDigest,
    owner: attempt.owner,
    leaseMs: leaseMsOf(attempt),
    keyBase: idempotencyKeyBase(identity),
    lineage: version?.lineage,
    forwardsKey: effect.recovery.kind === 'forwardsKey',
  };
  const claimWithin = async (sql: Sql): Promise<AttemptClaim> => {
    const claim = await claimExternal(sql, schema, request);
    // Some of several rows may have been taken, and must be given back with the transaction.
    if (!claim) throw new Refused(undefined);
    if (!version || claim.path === 'performed') return claim;
    const { verdict, by } = await judgeVersion(sql, schema, version);
    if (verdict === 'older') throw new OlderState(by, claim.path === 'in_doubt');
    const sibling = await leasedSibling(sql, schema, { ...version, names, businessKey });
    if (sibling) throw new Refused({ path: 'held', ...sibling });
    return verdict === 'equal' ? { ...claim, equalTo: by } : claim;
  };
  for (let tries = 1; ; tries++) {
    try {
      if (names.length === 1 && !version) {
        const claim = await claimExternal(database.query, schema, request);
        if (claim) return claim;
      } else {
        return await database.transaction((_tx, sql) => claimWithin(sql), {
          statementTimeoutMs: claimLimitMs,
          lockTimeoutMs: claimLimitMs,
          idleTimeoutMs: claimLimitMs,
          signal: attempt.signal,
        });
      }
    } catch (error) {
      if (error instanceof OlderState) return { path: 'stale', by: error.by, inDoubt: error.inDoubt };
      if (!(error instanceof Refused)) {
        await undoUnanswered({ ledger, attempt });
        throw error;
      }
      if (error.refusal) return error.refusal;
    }
    const refusal = await readRefusal(database.query, schema, request);
    if (refusal) return refusal;
    // Released between the two statements: the next try takes it, unless others are quicker each time.
    if (tries >= claimTries) return { path: 'held', event: 'another attempt', leaseLeftMs: 1000 };
  }
}
