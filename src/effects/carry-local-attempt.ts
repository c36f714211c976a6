import { OnefoldError } from '../errors.js';
import { displayEvent } from '../identity/event-identity.js';
import { claimEffect } from '../ledger/claim-effect.js';
import { completeEffect, endEffect } from '../ledger/complete-effect.js';
import type { TransactionLimits } from '../ledger/database.js';
import { judgeVersion } from '../ledger/judge-version.js';
import type { Ledger } from '../ledger/ledger.js';
import type { StoredResult } from '../workflows/contract.js';
import { carriedVersion, OlderState } from './carried-version.js';
import { ledgerName, ledgerNames } from './catalogue.js';
import { sqlState } from './classify-failure.js';
import type { LocalEffect, RegisteredTx } from './effect.js';
import type { EffectAttempt } from './effect-attempt.js';
import { runInEffect } from './effect-scope.js';
import { encodeResult } from './encode-result.js';

/** One attempt of a local write. */
export interface LocalAttempt extends EffectAttempt {
  readonly effect: LocalEffect;
}

/** How an attempt that did not throw ended. */
export interface AttemptEnd {
  readonly outcome: 'done' | 'already_done' | 'stale';
  readonly fence: number;
  readonly result: StoredResult | undefined;
  /** `source/event-id` of the event that did it, or that carries the newer state, where it was another. */
  readonly doneBy?: string;
  readonly otherData?: boolean;
  /** `source/event-id` of another event with the same version. */
  readonly equalTo?: string;
}

/** How long a claim waits for another transaction on the same key before the attempt gives its slot back. */
const claimWaitMs = 1000;

/**
 * Carries one attempt of a local write: claim, business write and completion in one transaction, the completion last, so
 * that a crash at any point leaves nothing or everything. Knows neither Temporal nor HTTP.
 *
 * An older state of a superseding effect is judged under the lineage's lock and ends as `stale`: its claim is rolled back, and
 * nothing of it is written but that.
 *
 * @throws {OnefoldError} `claim_waiting` while another transaction holds the key; `effect_paused`; `transaction_aborted`,
 * `transaction_split`, `version_invalid`, `result_not_json`, `result_too_large`, `claim_without_completion`, `ledger_unavailable`; and
 * whatever the effect throws. After any of them nothing of this attempt is in the database, except after
 * `transaction_split`.
 */
export async function carryLocalAttempt(ledger: Ledger<RegisteredTx>, attempt: LocalAttempt): Promise<AttemptEnd> {
  try {
    return await carryInTransaction(ledger, attempt);
  } catch (error) {
    if (!(error instanceof OlderState)) throw error;
    await endStale(ledger, attempt);
    return { outcome: 'stale', fence: 0, result: undefined, doneBy: error.by };
  }
}

async function carryInTransaction(ledger: Ledger<RegisteredTx>, attempt: LocalAttempt): Promise<AttemptEnd> {
  const { effect, event, businessKey, eventKey } = attempt;
  const version = carriedVersion(effect, event, eventKey);
  const identity = {
    tenant: event.tenant,
    effect: ledgerName(effect),
    names: ledgerNames(effect),
    businessKey,
    eventKey,
  };
  const { timeoutMs } = attempt;
  return ledger.database.transaction(async (tx, sql) => {
    const claim = await claimEffect(sql, ledger.schema, {
      ...identity,
      source: event.source,
      event: displayEvent(event),
      dataDigest: attempt.dataDigest,
      owner: attempt.owner,
      lockTimeoutMs: timeoutMs,
    }).catch((error: unknown) => {
      if (sqlState(error) !== '55P03') throw error;
      throw new OnefoldError('claim_waiting', 'another transaction holds the same business identity', {
        cause: error,
      });
    });
    if (claim.path === 'done') {
      // Our own event did it when the answer to an earlier COMMIT was lost: that is done, not somebody else's work.
      const own = claim.eventKey === eventKey;
      const outcome = own ? 'done' : 'already_done';
      await endEffect(sql, ledger.schema, { ...identity, effect: claim.effect, outcome });
      return {
        outcome,
        fence: claim.fence,
        result: claim.result,
        ...(own ? {} : { doneBy: claim.event }),
        ...(own || claim.sameData ? {} : { otherData: true }),
      };
    }
    const judged = version && (await judgeVersion(sql, ledger.schema, version));
    if (judged?.verdict === 'older') throw new OlderState(judged.by);
    const value = await runInEffect({ ledger, metrics: attempt.metrics, effect, event, businessKey }, () =>
      effect.commit({ event, tx, businessKey, attempt: attempt.attempt, signal: attempt.signal }),
    );
    const result = encodeResult(value);
    await completeEffect(sql, ledger.schema, {
      ...identity,
      owner: attempt.owner,
      fences: claim.fences,
      transaction: claim.transaction,
      result,
    });
    return {
      outcome: 'done',
      fence: claim.fence,
      result: { json: result },
      ...(judged?.verdict === 'equal' ? { equalTo: judged.by } : {}),
    };
  }, limitsOf(attempt));
}

async function endStale(ledger: Ledger<RegisteredTx>, attempt: LocalAttempt): Promise<void> {
  const { effect, event, businessKey, eventKey } = attempt;
  const names = ledgerNames(effect);
  const end = {
    tenant: event.tenant,
    effect: ledgerName(effect),
    names,
    businessKey,
    eventKey,
    outcome: 'stale',
  } as const;
  await ledger.database.transaction((_tx, sql) => endEffect(sql, ledger.schema, end), limitsOf(attempt));
}

function limitsOf({ timeoutMs, signal }: LocalAttempt): TransactionLimits {
  return {
    statementTimeoutMs: timeoutMs,
    lockTimeoutMs: Math.min(claimWaitMs, timeoutMs),
    // A process frozen in mid-transaction holds the key for no longer than its attempt could have taken.
    idleTimeoutMs: timeoutMs,
    signal,
  };
}
