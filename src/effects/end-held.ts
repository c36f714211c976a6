import { OnefoldError } from '../errors.js';
import { leaveUnknown, parkClaim, releaseClaim } from '../ledger/end-attempt.js';
import { recordSuperseded } from '../ledger/record-superseded.js';
import type { FailureDetail } from '../workflows/contract.js';
import { leaseMsOf } from './claim-for-attempt.js';
import { classifyFailure } from './classify-failure.js';
import { completeCall } from './complete-call.js';
import { endForEvent } from './end-for-event.js';
import type { ReceivedEvent } from './event.js';
import type { AttemptInLedger, ExternalAttemptEnd } from './external-attempt.js';
import { giveBack } from './give-back.js';
import { type Held, keepingLease } from './held-attempt.js';
import type { Called } from './run-called.js';
import { writeOwn } from './write-own.js';

// How an attempt that holds a claim ends. Each writes what the attempt knows, as long as its time allows, and only where
// the claim is still its own.

/** By then a stopping process has ended, however little its code listens: its grace is over, and it is not waited for longer. */
const goneAfterShutdownMs = 20_000;

/** Leaves the claim to the recovery of the next attempt, or to a person where that is the recovery. */
export async function leaveInDoubt(
  run: AttemptInLedger,
  held: Held,
  called: Called<unknown>,
  detail: FailureDetail,
  acted: boolean,
): Promise<ExternalAttemptEnd> {
  const { ledger, attempt } = run;
  const { reason } = attempt.signal;
  const code = reason instanceof OnefoldError ? reason.code : undefined;
  const thrown = called.kind === 'threw' ? { thrown: called.thrown } : {};
  const leaseMs = leaseMsOf(attempt);
  const mayRunMs = code === 'worker_shutdown' ? Math.min(goneAfterShutdownMs, leaseMs) : leaseMs;
  const stillRunningMs = called.kind === 'given_up' ? mayRunMs : 0;
  // An abandoned event waits for nobody; whoever asks for the effect next parks it.
  if (attempt.effect.recovery.kind === 'park' && acted && code !== 'cancelled') {
    const end = await parkHeld(run, held, `its outcome is unknown: ${detail.message}`, stillRunningMs);
    return end.kind === 'parked' ? { ...end, ...thrown } : end;
  }
  const left = { acted, stillRunningMs };
  const { query } = ledger.database;
  const isLeft = await writeOwn(run, held.claim, 'unknown', () => leaveUnknown(query, ledger.schema, held.claim, left));
  if (!isLeft) return endSuperseded(run, held, 'unknown');
  return { kind: 'failed', detail, ...thrown };
}

/** Leaves the claim to a person, who may speak once the code that still runs has ended. */
export async function parkHeld(
  run: AttemptInLedger,
  held: Held,
  why: string,
  stillRunningMs = 0,
): Promise<ExternalAttemptEnd> {
  const { database, schema } = run.ledger;
  const parked = await writeOwn(run, held.claim, 'parked', () =>
    parkClaim(database.query, schema, held.claim, stillRunningMs),
  );
  if (!parked) return endSuperseded(run, held, 'unknown');
  return { kind: 'parked', fence: held.fence, message: parkedMessage(held.standsFor.event, why) };
}

/** Releases the claim: nothing was done, for certain, and the next attempt gets a new key. */
export async function releaseHeld(
  run: AttemptInLedger,
  held: Held,
  failed: { readonly detail: FailureDetail; readonly thrown: unknown },
): Promise<ExternalAttemptEnd> {
  const { database, schema } = run.ledger;
  const released = await writeOwn(run, held.claim, 'released', () => releaseClaim(database.query, schema, held.claim));
  return released ? { kind: 'failed', ...failed } : endSuperseded(run, held, 'not_done');
}

/** Gives the claim back as it was taken: this attempt has not come to act under it, or to ask. */
export async function giveBackHeld(run: AttemptInLedger, held: Held, thrown: unknown): Promise<ExternalAttemptEnd> {
  if (!(await giveBack(run))) return endSuperseded(run, held, 'not_done');
  return { kind: 'failed', detail: classifyFailure(thrown, run.attempt.nonRetryable), thrown };
}

/**
 * Commits and completes; the answer says by which event's work this one ends.
 *
 * @param json The value as the ledger has it already, where it does.
 */
export async function completeHeld(
  run: AttemptInLedger,
  held: Held,
  event: ReceivedEvent,
  value: unknown,
  json?: string,
): Promise<ExternalAttemptEnd> {
  const own = held.standsFor.eventKey === run.attempt.eventKey;
  const outcome = own ? 'done' : 'already_done';
  const made = { claim: held.claim, event, value, outcome, ...(json === undefined ? {} : { json }) } as const;
  const ended = await keepingLease(run, held, () => completeCall(run, made));
  if (ended.kind === 'superseded') return endSuperseded(run, held, 'performed');
  if (ended.kind === 'failed') return ended;
  if (!own) await endForOther(run, held);
  return {
    kind: 'ended',
    outcome,
    fence: held.fence,
    result: { json: ended.json },
    ...(own ? {} : { doneBy: held.standsFor.event }),
    ...(held.standsFor.sameData ? {} : { otherData: true }),
    ...(held.equalTo === undefined ? {} : { equalTo: held.equalTo }),
  };
}

/**
 * The event whose work was finished here may be closed, with an open dead letter that this was the last reason for. What
 * keeps it from being told now, such as that it was abandoned, is no failure of this attempt: its own next one finds it done.
 */
async function endForOther(run: AttemptInLedger, held: Held): Promise<void> {
  const [row] = held.claim.rows;
  if (!row) return;
  await endForEvent(run, held.standsFor.eventKey, { effect: row.effect, outcome: 'done' }).catch(() => {});
}

/** The claim was taken while this attempt slept or overran: it writes nothing but that. */
export async function endSuperseded(
  run: AttemptInLedger,
  held: Held,
  ended: 'performed' | 'not_done' | 'unknown',
): Promise<ExternalAttemptEnd> {
  const { ledger, attempt } = run;
  attempt.onNotice?.({ kind: 'superseded', fence: held.fence, ended });
  await recordSuperseded(ledger.database.query, ledger.schema, {
    claim: held.claim,
    eventKey: attempt.eventKey,
    attempt: attempt.attempt,
    ended,
  });
  return {
    kind: 'failed',
    detail: {
      code: 'effect_superseded',
      message: 'another attempt has taken the claim, so nothing of this one was written',
      permanent: false,
      counted: false,
    },
  };
}

/** What a parked effect waits for, for people. */
export function parkedMessage(event: string, why: string): string {
  return `an attempt for ${event} waits for a person: ${why}`;
}

/** The failure of an attempt whose code was told to stop. */
export function stoppedDetail({ attempt }: AttemptInLedger): FailureDetail {
  const { signal, nonRetryable } = attempt;
  const detail = signal.aborted
    ? classifyFailure(signal.reason, nonRetryable)
    : unknownOutcome('the lease could not be kept, so the attempt was told to stop');
  return { ...detail, outcomeUnknown: true };
}

/** The failure of an attempt that may have taken hold. */
export function unknownOutcome(message: string): FailureDetail {
  return { code: 'outcome_unknown', message, permanent: false, counted: true, outcomeUnknown: true };
}
