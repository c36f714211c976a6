import { atStep } from './at-step.js';
import { classifyFailure } from './classify-failure.js';
import { runInEffect } from './effect-scope.js';
import {
  completeHeld,
  endSuperseded,
  giveBackHeld,
  leaveInDoubt,
  releaseHeld,
  stoppedDetail,
  unknownOutcome,
} from './end-held.js';
import { errorChain } from './error-chain.js';
import type { ReceivedEvent } from './event.js';
import type { AttemptInLedger, ExternalAttemptEnd } from './external-attempt.js';
import { confirmHeld, type Held, overdue, runUnderLease } from './held-attempt.js';
import { provesNothingDone, settlesKey } from './proves-nothing-done.js';
import type { Called } from './run-called.js';

/**
 * Calls the recipient and writes down what that came to. Deadline and fence are looked at right before the call, since the
 * process may have stood still since the claim.
 */
export async function callRecipient(
  run: AttemptInLedger,
  held: Held,
  event: ReceivedEvent,
): Promise<ExternalAttemptEnd> {
  const { effect, attempt, businessKey, metrics } = run.attempt;
  const { idempotencyKey } = held;
  await atStep(run.attempt, 'before_call');
  const confirmedAt = await confirmHeld(run, held);
  if (confirmedAt === undefined) return endSuperseded(run, held, 'not_done');
  const stop = overdue(run);
  if (stop !== undefined) return giveBackHeld(run, held, stop);
  const called = await runUnderLease(run, held, { acting: true, confirmedAt }, (signal) =>
    runInEffect({ ledger: run.ledger, metrics, effect, event, businessKey }, () =>
      effect.perform({ event, businessKey, idempotencyKey, attempt, signal }),
    ),
  );
  await atStep(run.attempt, 'after_call');
  if (called.kind === 'returned') return completeHeld(run, held, event, called.value);
  return judgeFailure(run, held, called);
}

/** Says what a call that did not return means, and writes it down. */
async function judgeFailure(
  run: AttemptInLedger,
  held: Held,
  called: Exclude<Called<unknown>, { kind: 'returned' }>,
): Promise<ExternalAttemptEnd> {
  const { effect, nonRetryable, signal } = run.attempt;
  if (called.kind === 'given_up') return leaveInDoubt(run, held, called, stoppedDetail(run), true);
  const { thrown } = called;
  const detail = classifyFailure(thrown, nonRetryable);
  if (provesNothingDone(thrown, effect.provesNothingDone)) {
    // A refused connection says nothing about an earlier attempt that got through.
    if (!held.inDoubt || settlesKey(thrown)) return releaseHeld(run, held, { detail, thrown });
    return leaveInDoubt(run, held, called, { ...detail, outcomeUnknown: true }, true);
  }
  if (signal.aborted) return leaveInDoubt(run, held, called, stoppedDetail(run), true);
  const { code, message } = detail;
  const named = code === 'effect_threw' || code === 'outcome_unknown' ? message : `${code}: ${message}`;
  const because = causeCodes(thrown).map((cause) => ` (${cause})`);
  return leaveInDoubt(
    run,
    held,
    called,
    { ...detail, ...unknownOutcome(named + because.join('')), permanent: detail.permanent },
    true,
  );
}

/** Codes as programs give them; one that was made from data is none. */
const plainCode = /^[A-Z][A-Z0-9_]{2,40}$/;

/** What a client wraps says most: `fetch failed` tells nothing, and the code of its cause whether anything was sent. */
function causeCodes(thrown: unknown): string[] {
  const codes = (errorChain(thrown) ?? []).slice(1).map((cause) => (cause as { code?: unknown }).code);
  return codes.filter((code): code is string => typeof code === 'string' && plainCode.test(code));
}
