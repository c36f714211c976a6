import { OnefoldError } from '../errors.js';
import type { HeldClaim } from '../ledger/held-claim.js';
import { renewLease } from '../ledger/renew-lease.js';
import { leaseMsOf } from './claim-for-attempt.js';
import type { AttemptInLedger } from './external-attempt.js';
import { type KeptLease, keepLease } from './keep-lease.js';
import { type Called, runCalled } from './run-called.js';

/** A claim under which an attempt may act, or ask. */
export interface Held {
  readonly claim: HeldClaim;
  readonly fence: number;
  readonly idempotencyKey: string;
  /**
   * When the claim was asked for, Unix ms. Its lease runs from when the database took it, not from when the answer was
   * read: a process that stood still in between has a claim that looks fresh and is over.
   */
  readonly confirmedAt: number;
  /** An earlier attempt's outcome is unknown. */
  readonly inDoubt: boolean;
  /** The event that the effect stands for in the ledger: of the earlier attempt, where it is in doubt. */
  readonly standsFor: { readonly eventKey: string; readonly event: string; readonly sameData: boolean };
  readonly equalTo: string | undefined;
}

/** A claim that was asked for so long ago at most needs no second question right before the call. */
const freshClaimMs = 1000;

/** As part of its lease, so that also the shortest one has most of its time left. */
const freshPart = 1 / 3;

/**
 * Makes sure, right before the call, that the claim is still ours, and says in the ledger that a request may be under way
 * from now on. The answer to a fresh claim has just said both. An answer that came late is asked for again, as long as the
 * attempt has time.
 *
 * @returns When the question was asked to which the answer is yes, Unix ms; undefined where the claim was taken.
 */
export async function confirmHeld(run: AttemptInLedger, held: Held): Promise<number | undefined> {
  const { database, schema } = run.ledger;
  const leaseMs = leaseMsOf(run.attempt);
  const freshMs = Math.min(freshClaimMs, leaseMs * freshPart);
  if (!held.inDoubt && Date.now() - held.confirmedAt < freshMs) return held.confirmedAt;
  for (;;) {
    const askedAt = Date.now();
    const renewal = { leaseMs, acting: true, forwardsKey: forwardsKey(run) };
    if (!(await renewLease(database.query, schema, held.claim, renewal))) return undefined;
    if (Date.now() - askedAt < freshMs || overdue(run) !== undefined) return askedAt;
  }
}

/** The error of an attempt whose time is over, by the clock: its timer may not have had its turn since the process slept. */
export function overdue({ attempt }: AttemptInLedger): unknown {
  if (attempt.signal.aborted) return attempt.signal.reason;
  const { startedAt, timeoutMs } = attempt;
  return Date.now() - startedAt < timeoutMs
    ? undefined
    : new OnefoldError('attempt_timed_out', `the attempt exceeded its timeout of ${timeoutMs} ms before it acted`);
}

/**
 * Runs the user's code under a lease that is kept up while it runs.
 *
 * @param acting The code may act; otherwise it only asks.
 * @param confirmedAt When the claim was last known to be ours, Unix ms.
 */
export async function runUnderLease<Result>(
  run: AttemptInLedger,
  held: Held,
  { acting, confirmedAt }: { readonly acting: boolean; readonly confirmedAt: number },
  code: (signal: AbortSignal) => Promise<Result>,
): Promise<Called<Result>> {
  const lease = keep(run, held, acting, confirmedAt);
  const both = AbortSignal.any([run.attempt.signal, lease.signal]);
  try {
    return await runCalled(() => code(both), both);
  } finally {
    lease.stop();
  }
}

/** Keeps the lease up while what the call came to is written: the one thing that must not be taken over then. */
export async function keepingLease<Result>(
  run: AttemptInLedger,
  held: Held,
  write: () => Promise<Result>,
): Promise<Result> {
  const lease = keep(run, held, true, Date.now());
  try {
    return await write();
  } finally {
    lease.stop();
  }
}

function keep(run: AttemptInLedger, held: Held, acting: boolean, confirmedAt: number): KeptLease {
  const { attempt, ledger } = run;
  return keepLease(ledger, held.claim, {
    leaseMs: leaseMsOf(attempt),
    heartbeatMs: attempt.effect.heartbeatMs,
    acting,
    forwardsKey: forwardsKey(run),
    confirmedAt,
  });
}

/** Whether the recipient dedupes on the key, as far as this code declares. */
export function forwardsKey({ attempt }: AttemptInLedger): boolean {
  return attempt.effect.recovery.kind === 'forwardsKey';
}
