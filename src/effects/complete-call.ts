import { completeExternal } from '../ledger/complete-effect.js';
import { keepPerformed, leaveUnknown } from '../ledger/end-attempt.js';
import type { HeldClaim } from '../ledger/held-claim.js';
import { isLeftAs } from '../ledger/is-left-as.js';
import type { FailureDetail } from '../workflows/contract.js';
import { atStep } from './at-step.js';
import { AttemptVanished } from './attempt-steps.js';
import { classifyFailure } from './classify-failure.js';
import { runInEffect } from './effect-scope.js';
import { encodeResult } from './encode-result.js';
import type { ReceivedEvent } from './event.js';
import type { AttemptInLedger } from './external-attempt.js';
import { insist } from './insist.js';
import { writeDownMs, writeOwn, writeUntil } from './write-own.js';

/** A call that was made, or found to have been made. */
export interface MadeCall {
  readonly claim: HeldClaim;
  /** The event that the effect stands for. */
  readonly event: ReceivedEvent;
  readonly value: unknown;
  /** The value as the ledger keeps it already, where it does: parsed and written again, long numbers would lose digits. */
  readonly json?: string;
  readonly outcome: 'done' | 'already_done';
}

/** What completing it came to. */
export type Completed =
  | { readonly kind: 'completed'; readonly json: string }
  /** The claim was taken by another attempt. */
  | { readonly kind: 'superseded' }
  | { readonly kind: 'failed'; readonly detail: FailureDetail; readonly thrown: unknown };

/** Rows of one's own take less; an effect whose calls take hours must not hold a connection as long. */
const longestCommitMs = 60_000;

/** However late the call returned, so much is left for writing it down. */
const leastCommitMs = 1000;

/** Thrown inside the transaction to roll it back: whatever `commit` wrote goes with it. */
class ClaimLost extends Error {}

/**
 * Writes down that the call was made: `commit` and completion in one transaction, only where the fence is still ours. Where
 * that fails, the result is kept in the claim, so that the next attempt needs no recovery and does only these. A COMMIT
 * whose answer was lost is settled by what the ledger then says.
 */
export async function completeCall(run: AttemptInLedger, made: MadeCall): Promise<Completed> {
  const { ledger, attempt } = run;
  const { query } = ledger.database;
  const failed = (thrown: unknown, more: Partial<FailureDetail> = {}): Completed => ({
    kind: 'failed',
    detail: { ...classifyFailure(thrown, attempt.nonRetryable), ...more },
    thrown,
  });
  let json: string;
  try {
    json = made.json ?? encodeResult(made.value);
  } catch (error) {
    // The call was made, and its result cannot be kept: after a mended `perform`, the recovery finds it out again.
    const ended = { acted: true, stillRunningMs: 0 };
    const left = await writeOwn(run, made.claim, 'unknown', () =>
      leaveUnknown(query, ledger.schema, made.claim, ended),
    );
    return left ? failed(error, { outcomeUnknown: true }) : { kind: 'superseded' };
  }
  await atStep(attempt, 'before_completion');
  try {
    await writeCompletion(run, made, json);
  } catch (error) {
    if (error instanceof AttemptVanished) throw error;
    if (error instanceof ClaimLost) return { kind: 'superseded' };
    // Waits for a completion that is just committing, and then finds nothing of its own to change.
    const kept = await writeOwn(run, made.claim, 'performed', () =>
      keepPerformed(query, ledger.schema, made.claim, json),
    );
    if (kept) {
      const { message } = classifyFailure(error, attempt.nonRetryable);
      return failed(error, { message: `the call is made, and its commit failed: ${message}` });
    }
    const done = await insist(writeUntil(attempt), () => isLeftAs(query, ledger.schema, made.claim, 'done'));
    if (!done) return { kind: 'superseded' };
  }
  await atStep(attempt, 'after_completion');
  return { kind: 'completed', json };
}

async function writeCompletion(run: AttemptInLedger, made: MadeCall, json: string): Promise<void> {
  const { ledger, attempt } = run;
  const { effect, businessKey, eventKey } = attempt;
  const leftMs = attempt.startedAt + attempt.timeoutMs + writeDownMs - Date.now();
  const limitMs = Math.min(longestCommitMs, Math.max(leastCommitMs, leftMs));
  // Not the attempt's own signal: what was done is written down, whoever wants the attempt to stop.
  const signal = AbortSignal.timeout(limitMs);
  const { claim, event, value, outcome } = made;
  await ledger.database.transaction(
    async (tx, sql) => {
      await runInEffect({ ledger, metrics: attempt.metrics, effect, event, businessKey }, () =>
        effect.commit?.({
          event,
          tx,
          result: value,
          businessKey,
          attempt: attempt.attempt,
          signal,
        }),
      );
      if (!(await completeExternal(sql, ledger.schema, { claim, eventKey, outcome, result: json }))) {
        throw new ClaimLost('the claim was taken by another attempt');
      }
    },
    { statementTimeoutMs: limitMs, lockTimeoutMs: limitMs, idleTimeoutMs: limitMs, signal },
  );
}
