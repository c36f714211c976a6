import { displayEvent } from '../identity/event-identity.js';
import { beginAnew } from '../ledger/begin-anew.js';
import type { FailureDetail } from '../workflows/contract.js';
import { callRecipient } from './call-recipient.js';
import { leaseMsOf } from './claim-for-attempt.js';
import { classifyFailure } from './classify-failure.js';
import { completeHeld, endSuperseded, leaveInDoubt, parkHeld, stoppedDetail, unknownOutcome } from './end-held.js';
import type { ReceivedEvent } from './event.js';
import type { AttemptInLedger, ExternalAttemptEnd } from './external-attempt.js';
import { forwardsKey, type Held, runUnderLease } from './held-attempt.js';
import type { Ask, Recovery } from './recovery.js';

/**
 * Finishes what an earlier attempt left unknown, by the declared recovery: the same request again, or a question to the
 * recipient, or a person.
 */
export async function recoverAttempt(
  run: AttemptInLedger,
  held: Held,
  event: ReceivedEvent,
  doubt: { readonly keyAgeMs: number; readonly keyForwarded: boolean; readonly settledMs: number },
): Promise<ExternalAttemptEnd> {
  const { effect, timeoutMs, onNotice } = run.attempt;
  const { recovery } = effect;
  // The request must reach the recipient while it still remembers, so the attempt's own time counts too. And an attempt of
  // code that declared another recovery may never have handed the key over.
  const remembers = recovery.kind === 'forwardsKey' && doubt.keyAgeMs + timeoutMs <= recovery.validForMs;
  if (remembers && doubt.keyForwarded) {
    onNotice?.({ kind: 'recovering', recovery: 'forwardsKey', event: held.standsFor.event });
    return callRecipient(run, held, event);
  }
  if (!('ask' in recovery)) {
    return parkHeld(run, held, `its outcome is unknown${whyNotSent(recovery, remembers)}`);
  }
  onNotice?.({ kind: 'recovering', recovery: 'reconcile', event: held.standsFor.event });
  return askRecipient(run, held, event, recovery.ask, recovery.settleAfterMs - doubt.settledMs);
}

function whyNotSent({ kind }: Recovery, remembers: boolean): string {
  if (kind === 'park') return '';
  return remembers
    ? ', and it was made without handing over the key'
    : ', and the recipient may have forgotten the key';
}

/** @param unsettledMs How long an earlier attempt may still be under way, ms; not positive when it no longer can. */
async function askRecipient(
  run: AttemptInLedger,
  held: Held,
  event: ReceivedEvent,
  ask: Ask<unknown>,
  unsettledMs: number,
): Promise<ExternalAttemptEnd> {
  const { businessKey, nonRetryable } = run.attempt;
  const { idempotencyKey, confirmedAt } = held;
  const answered = await runUnderLease(run, held, { acting: false, confirmedAt }, (signal) =>
    ask({ event, businessKey, idempotencyKey, signal }),
  );
  const leave = (detail: FailureDetail) => leaveInDoubt(run, held, answered, detail, false);
  if (answered.kind === 'given_up') return leave(stoppedDetail(run));
  if (answered.kind === 'threw') {
    const { code, message } = classifyFailure(answered.thrown, nonRetryable);
    return leave(unknownOutcome(`reconcile failed: ${code}: ${message}`));
  }
  const answer: unknown = answered.value;
  if (typeof answer === 'object' && answer !== null && 'done' in answer) {
    return completeHeld(run, held, event, answer.done);
  }
  if (answer === 'unknown') {
    return leave(unknownOutcome('the recipient could not tell what became of an earlier attempt'));
  }
  if (answer !== 'absent') {
    return leave(unknownOutcome("reconcile answered neither { done }, 'absent' nor 'unknown'"));
  }
  if (unsettledMs <= 0) return performAnew(run, held);
  return leave({
    code: 'outcome_settling',
    message: `the recipient has no trace of an earlier attempt, which may be under way for ${Math.ceil(unsettledMs / 1000)} s more`,
    permanent: false,
    counted: false,
    retryAfterMs: Math.ceil(unsettledMs),
  });
}

/**
 * Absent is believed: nothing of an earlier attempt is in doubt any more. The effect is this event's from here on, made of
 * its data, and what its call proves holds for the key.
 */
async function performAnew(run: AttemptInLedger, held: Held): Promise<ExternalAttemptEnd> {
  const { ledger, attempt } = run;
  const { event, eventKey, dataDigest } = attempt;
  const confirmedAt = Date.now();
  const own = { eventKey, event: displayEvent(event) };
  const begun = await beginAnew(ledger.database.query, ledger.schema, held.claim, {
    ...own,
    dataDigest,
    leaseMs: leaseMsOf(attempt),
    forwardsKey: forwardsKey(run),
  });
  if (!begun) return endSuperseded(run, held, 'not_done');
  const fresh: Held = { ...held, inDoubt: false, confirmedAt, standsFor: { ...own, sameData: true } };
  return callRecipient(run, fresh, event);
}
