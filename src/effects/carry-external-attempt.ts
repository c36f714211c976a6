import { OnefoldError } from '../errors.js';
import { displayEvent } from '../identity/event-identity.js';
import type { TakenClaim } from '../ledger/claim-external.js';
import { endEffect } from '../ledger/complete-effect.js';
import { leaveUnknown, parkClaim, releaseClaim } from '../ledger/end-attempt.js';
import type { HeldClaim } from '../ledger/held-claim.js';
import { recordSuperseded } from '../ledger/record-superseded.js';
import { renewLease } from '../ledger/renew-lease.js';
import type { FailureDetail } from '../workflows/contract.js';
import { atStep } from './at-step.js';
import { ledgerName, ledgerNames } from './catalogue.js';
import { type AttemptClaim, claimForAttempt, leaseMsOf } from './claim-for-attempt.js';
import { classifyFailure } from './classify-failure.js';
import { completeCall, writeUntil } from './complete-call.js';
import type { ReceivedEvent } from './event.js';
import type { AttemptInLedger, ExternalAttemptEnd } from './external-attempt.js';
import { insist } from './insist.js';
import { keepLease } from './keep-lease.js';
import { provesNothingDone, settlesKey } from './proves-nothing-done.js';
import type { Ask } from './recovery.js';
import { type Called, runCalled } from './run-called.js';

/**
 * The claim's own answer is proof enough of its fence for the call that follows at once; a process that stood still for
 * longer asks again.
 */
const freshClaimMs = 1000;

/** By then a stopping process has ended, however little its code listens: its grace is over, and it is not waited for longer. */
const goneAfterShutdownMs = 20_000;

/** A claim under which this attempt may act, or ask. */
interface Held {
  readonly claim: HeldClaim;
  readonly fence: number;
  readonly idempotencyKey: string;
  /** When the claim was known to be ours, Unix ms. */
  readonly confirmedAt: number;
  /** An earlier attempt's outcome is unknown. */
  readonly inDoubt: boolean;
  /** The event that the effect stands for in the ledger: of the earlier attempt, where it is in doubt. */
  readonly standsFor: { readonly eventKey: string; readonly event: string; readonly sameData: boolean };
  readonly equalTo: string | undefined;
}

/**
 * Carries one attempt at an external effect: claims, committed before the call; calls, or recovers what an earlier attempt
 * left unknown; completes, only where the fence is still its own. Knows neither Temporal nor HTTP.
 *
 * Whatever it knows of the outcome is in the ledger before it returns. Where it dies, or where the ledger cannot be written,
 * the row says `claimed` until its lease is over, and the next attempt of whatever event recovers.
 *
 * @throws {OnefoldError} Before anything was claimed: `attempt_timed_out`, `abandoned`, `version_invalid`,
 * `claim_without_completion`, `ledger_unavailable`, and the signal's reason. What happens after it is in the answer.
 */
export async function carryExternalAttempt(run: AttemptInLedger): Promise<ExternalAttemptEnd> {
  const { attempt } = run;
  await atStep(run.attempt, 'before_claim');
  assertInTime(run);
  const claim = await claimForAttempt(run);
  const confirmedAt = Date.now();
  if (claim.path === 'claimed' || claim.path === 'in_doubt' || claim.path === 'performed') {
    await atStep(run.attempt, 'after_claim');
    return carryClaimed(run, claim, confirmedAt);
  }
  return answerRefused(run, claim, attempt.eventKey);
}

async function carryClaimed(
  run: AttemptInLedger,
  claim: TakenClaim & { readonly equalTo?: string },
  confirmedAt: number,
): Promise<ExternalAttemptEnd> {
  const { attempt } = run;
  const own = { eventKey: attempt.eventKey, event: displayEvent(attempt.event), sameData: true };
  const standsFor = claim.path === 'claimed' ? own : claim;
  const held: Held = {
    claim: claim.held,
    fence: claim.fence,
    idempotencyKey: claim.path === 'performed' ? '' : claim.idempotencyKey,
    confirmedAt,
    inDoubt: claim.path !== 'claimed',
    standsFor,
    equalTo: claim.equalTo,
  };
  if (claim.path === 'claimed') return call(run, held, attempt.event);
  // The earlier attempt's request was made of its own event's data, and the recipient may hold that under the key.
  const event =
    standsFor.eventKey === attempt.eventKey
      ? attempt.event
      : ((await attempt.readEvent(standsFor.eventKey)) ?? attempt.event);
  if (claim.path === 'performed') {
    attempt.onNotice?.({ kind: 'recovering', recovery: 'commit', event: standsFor.event });
    return complete(run, held, event, JSON.parse(claim.result), claim.result);
  }
  return recover(run, held, event, claim);
}

/** By the declared recovery: the same request again, or a question to the recipient, or a person. */
async function recover(
  run: AttemptInLedger,
  held: Held,
  event: ReceivedEvent,
  doubt: { readonly keyAgeMs: number; readonly settledMs: number },
): Promise<ExternalAttemptEnd> {
  const { effect, timeoutMs, onNotice } = run.attempt;
  const { recovery } = effect;
  // The request must reach the recipient while it still remembers, so the attempt's own time counts too.
  if (recovery.kind === 'forwardsKey' && doubt.keyAgeMs + timeoutMs <= recovery.validForMs) {
    onNotice?.({ kind: 'recovering', recovery: 'forwardsKey', event: held.standsFor.event });
    return call(run, held, event);
  }
  if (!('ask' in recovery)) {
    const why =
      recovery.kind === 'park'
        ? 'its outcome is unknown'
        : 'its outcome is unknown, and the recipient may have forgotten the key';
    return parkHeld(run, held, why);
  }
  onNotice?.({ kind: 'recovering', recovery: 'reconcile', event: held.standsFor.event });
  return reconcileWith(run, held, event, recovery.ask, recovery.settleAfterMs - doubt.settledMs);
}

async function reconcileWith(
  run: AttemptInLedger,
  held: Held,
  event: ReceivedEvent,
  ask: Ask<unknown>,
  unsettledMs: number,
): Promise<ExternalAttemptEnd> {
  const { businessKey } = run.attempt;
  const { idempotencyKey } = held;
  const answered = await underLease(run, held, false, (signal) => ask({ event, businessKey, idempotencyKey, signal }));
  const doubtful = (message: string): Promise<ExternalAttemptEnd> =>
    leaveInDoubt(run, held, answered, unknownOutcome(message), false);
  if (answered.kind === 'given_up') return leaveInDoubt(run, held, answered, abortDetail(run), false);
  if (answered.kind === 'threw') {
    const { code, message } = classifyFailure(answered.thrown, run.attempt.nonRetryable);
    const end = await doubtful(`reconcile failed: ${code}: ${message}`);
    return end.kind === 'failed' ? { ...end, thrown: answered.thrown } : end;
  }
  const answer: unknown = answered.value;
  if (typeof answer === 'object' && answer !== null && 'done' in answer) return complete(run, held, event, answer.done);
  if (answer === 'unknown') return doubtful('the recipient could not tell what became of an earlier attempt');
  if (answer !== 'absent') return doubtful("reconcile answered neither { done }, 'absent' nor 'unknown'");
  // Believed, so that nothing of an earlier attempt is in doubt any more, and what this one proves holds for the key.
  if (unsettledMs <= 0) return call(run, { ...held, inDoubt: false, confirmedAt: 0 }, event);
  const detail: FailureDetail = {
    code: 'outcome_settling',
    message: `the recipient has no trace of an earlier attempt, which may be under way for ${Math.ceil(unsettledMs / 1000)} s more`,
    permanent: false,
    counted: false,
    retryAfterMs: Math.ceil(unsettledMs),
    outcomeUnknown: true,
  };
  return leaveInDoubt(run, held, answered, detail, false);
}

/** Calls the recipient, and writes down what that came to. */
async function call(run: AttemptInLedger, held: Held, event: ReceivedEvent): Promise<ExternalAttemptEnd> {
  const { effect, attempt, businessKey } = run.attempt;
  const { idempotencyKey } = held;
  await atStep(run.attempt, 'before_call');
  if (!(await confirm(run, held))) return superseded(run, held, 'not_done');
  const stop = overdue(run);
  if (stop) {
    // Nothing was sent by this attempt: a fresh claim is free again, a doubtful one as doubtful as before.
    if (held.inDoubt) return leaveInDoubt(run, held, { kind: 'threw', thrown: stop }, detailOf(run, stop), false);
    return release(run, held, { detail: detailOf(run, stop), thrown: stop }, false);
  }
  const called = await underLease(run, held, true, (signal) =>
    effect.perform({ event, businessKey, idempotencyKey, attempt, signal }),
  );
  await atStep(run.attempt, 'after_call');
  if (called.kind === 'returned') return complete(run, held, event, called.value);
  return judge(run, held, called);
}

/** Says what a call that did not return means, and writes it down. */
async function judge(
  run: AttemptInLedger,
  held: Held,
  called: Exclude<Called<unknown>, { kind: 'returned' }>,
): Promise<ExternalAttemptEnd> {
  const { effect, nonRetryable, signal } = run.attempt;
  if (called.kind === 'given_up') return leaveInDoubt(run, held, called, abortDetail(run), true);
  const { thrown } = called;
  if (provesNothingDone(thrown, effect.provesNothingDone)) {
    const detail = classifyFailure(thrown, nonRetryable);
    // A refused connection says nothing about an earlier attempt that got through.
    if (!held.inDoubt || settlesKey(thrown)) return release(run, held, { detail, thrown }, true);
    return leaveInDoubt(run, held, called, { ...detail, outcomeUnknown: true }, true);
  }
  if (signal.aborted) return leaveInDoubt(run, held, called, abortDetail(run), true);
  const { code, message, ...detail } = classifyFailure(thrown, nonRetryable);
  const named = code === 'effect_threw' || code === 'outcome_unknown' ? message : `${code}: ${message}`;
  return leaveInDoubt(
    run,
    held,
    called,
    { ...detail, code: 'outcome_unknown', message: named, outcomeUnknown: true },
    true,
  );
}

/** Leaves the claim to the recovery of the next attempt, or to a person where that is the recovery. */
async function leaveInDoubt(
  run: AttemptInLedger,
  held: Held,
  called: Called<unknown>,
  detail: FailureDetail,
  acted: boolean,
): Promise<ExternalAttemptEnd> {
  const { ledger, attempt } = run;
  const { reason } = attempt.signal;
  const code = reason instanceof OnefoldError ? reason.code : undefined;
  // An abandoned event waits for nobody; whoever asks for the effect next parks it.
  if (attempt.effect.recovery.kind === 'park' && acted && code !== 'cancelled') {
    return parkHeld(run, held, `its outcome is unknown: ${detail.message}`);
  }
  const stillRunningMs =
    called.kind !== 'given_up' ? 0 : code === 'worker_shutdown' ? goneAfterShutdownMs : Number.MAX_SAFE_INTEGER;
  const left = { acted, stillRunningMs: Math.min(stillRunningMs, leaseMsOf(attempt)) };
  const { query } = ledger.database;
  if (!(await insist(writeUntil(attempt), () => leaveUnknown(query, ledger.schema, held.claim, left)))) {
    return superseded(run, held, 'unknown');
  }
  const thrown = called.kind === 'threw' ? { thrown: called.thrown } : {};
  return { kind: 'failed', detail, ...thrown };
}

async function parkHeld(run: AttemptInLedger, held: Held, why: string): Promise<ExternalAttemptEnd> {
  const { database, schema } = run.ledger;
  const parked = await insist(writeUntil(run.attempt), () => parkClaim(database.query, schema, held.claim));
  if (!parked) return superseded(run, held, 'unknown');
  return { kind: 'parked', fence: held.fence, message: parkedMessage(held.standsFor.event, why) };
}

async function release(
  run: AttemptInLedger,
  held: Held,
  failed: { readonly detail: FailureDetail; readonly thrown: unknown },
  spentKey: boolean,
): Promise<ExternalAttemptEnd> {
  const { database, schema } = run.ledger;
  const released = await insist(writeUntil(run.attempt), () =>
    releaseClaim(database.query, schema, held.claim, spentKey),
  );
  return released ? { kind: 'failed', ...failed } : superseded(run, held, 'not_done');
}

/** Commits and completes; the answer says by which event's work this one ends. */
async function complete(
  run: AttemptInLedger,
  held: Held,
  event: ReceivedEvent,
  value: unknown,
  json?: string,
): Promise<ExternalAttemptEnd> {
  const own = held.standsFor.eventKey === run.attempt.eventKey;
  const outcome = own ? 'done' : 'already_done';
  const kept = json === undefined ? {} : { json };
  const ended = await completeCall(run, { claim: held.claim, event, value, outcome, ...kept });
  if (ended.kind === 'superseded') return superseded(run, held, 'performed');
  if (ended.kind === 'failed') return ended;
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

/** The claim was taken while this attempt slept or overran: it writes nothing but that. */
async function superseded(
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

async function answerRefused(
  run: AttemptInLedger,
  claim: Exclude<AttemptClaim, TakenClaim>,
  eventKey: string,
): Promise<ExternalAttemptEnd> {
  switch (claim.path) {
    case 'held': {
      const leaseLeftMs = Math.ceil(claim.leaseLeftMs);
      const message = `an attempt for ${claim.event} holds the claim, for ${Math.ceil(leaseLeftMs / 1000)} s at most if it has died`;
      const detail = { code: 'claim_waiting', message, permanent: false, counted: false, waitAtMostMs: leaseLeftMs };
      return { kind: 'failed', detail };
    }
    case 'parked':
      return { kind: 'parked', fence: claim.fence, message: parkedMessage(claim.event, 'its outcome is unknown') };
    case 'stale':
      await endFor(run, { effect: ledgerName(run.attempt.effect), outcome: 'stale' });
      return { kind: 'ended', outcome: 'stale', fence: 0, doneBy: claim.by };
    case 'done': {
      // Our own event did it when the answer of an earlier attempt was lost: that is done, not somebody else's work.
      const own = claim.eventKey === eventKey;
      const outcome = own ? 'done' : 'already_done';
      await endFor(run, { effect: claim.effect, outcome });
      const { fence, result } = claim;
      return {
        kind: 'ended',
        outcome,
        fence,
        ...(result ? { result } : {}),
        ...(own ? {} : { doneBy: claim.event }),
        ...(own || claim.sameData ? {} : { otherData: true }),
      };
    }
  }
}

/** Of the short transaction that ends an effect for its event, ms. */
const endLimitMs = 5000;

async function endFor(
  { ledger, attempt }: AttemptInLedger,
  end: { readonly effect: string; readonly outcome: 'done' | 'already_done' | 'stale' },
): Promise<void> {
  const { event, eventKey, businessKey, effect } = attempt;
  const names = ledgerNames(effect);
  await ledger.database.transaction(
    (_tx, sql) => endEffect(sql, ledger.schema, { tenant: event.tenant, names, businessKey, eventKey, ...end }),
    { statementTimeoutMs: endLimitMs, lockTimeoutMs: endLimitMs, idleTimeoutMs: endLimitMs },
  );
}

/** Runs the user's code under a lease that is kept up while it runs. */
async function underLease<Result>(
  run: AttemptInLedger,
  held: Held,
  acting: boolean,
  code: (signal: AbortSignal) => Promise<Result>,
): Promise<Called<Result>> {
  const { effect, signal } = run.attempt;
  const lease = keepLease(run.ledger, held.claim, {
    leaseMs: leaseMsOf(run.attempt),
    heartbeatMs: effect.heartbeatMs,
    acting,
  });
  const both = AbortSignal.any([signal, lease.signal]);
  try {
    return await runCalled(() => code(both), both);
  } finally {
    lease.stop();
  }
}

/**
 * Makes sure, right before the call, that the claim is still ours, and says in the ledger that a request may be under way
 * from now on. The answer to a fresh claim has just said both.
 */
async function confirm(run: AttemptInLedger, held: Held): Promise<boolean> {
  if (!held.inDoubt && Date.now() - held.confirmedAt < freshClaimMs) return true;
  const { ledger, attempt } = run;
  return renewLease(ledger.database.query, ledger.schema, held.claim, { leaseMs: leaseMsOf(attempt), acting: true });
}

/** The error of an attempt whose time is over, by the clock: its timer may not have had its turn since the process slept. */
function overdue({ attempt }: AttemptInLedger): unknown {
  if (attempt.signal.aborted) return attempt.signal.reason;
  const { startedAt, timeoutMs } = attempt;
  return Date.now() - startedAt < timeoutMs
    ? undefined
    : new OnefoldError('attempt_timed_out', `the attempt exceeded its timeout of ${timeoutMs} ms before it acted`);
}

function assertInTime(run: AttemptInLedger): void {
  const stop = overdue(run);
  if (stop !== undefined) throw stop;
}

function detailOf({ attempt }: AttemptInLedger, error: unknown): FailureDetail {
  return classifyFailure(error, attempt.nonRetryable);
}

function abortDetail(run: AttemptInLedger): FailureDetail {
  const { signal } = run.attempt;
  const detail = signal.aborted
    ? detailOf(run, signal.reason)
    : unknownOutcome('the lease could not be kept, so the attempt was told to stop');
  return { ...detail, outcomeUnknown: true };
}

function unknownOutcome(message: string): FailureDetail {
  return { code: 'outcome_unknown', message, permanent: false, counted: true, outcomeUnknown: true };
}

function parkedMessage(event: string, why: string): string {
  return `an attempt for ${event} waits for a person: ${why}`;
}
