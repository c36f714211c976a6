import type { AttemptPolicy } from './contract.js';

/** Waits that spend no attempt grow to this and no further. */
const longestWaitMs = 15 * 60_000;

/** The first wait for something outside the event: another event's transaction, a worker that knows the effect. */
const firstWaitMs = 1000;

/** Between the end of a lease and whatever it was waited for, at most, in ms: so that two do not come at once. */
export const takeOverJitterMs = 500;

/**
 * The pause before the next attempt: full jitter, so that events that failed together do not come back together, and
 * never below what the other side asked for.
 *
 * @param attempts Attempts made so far, from 1.
 * @param random From 0 up to 1; the workflow's own, which replays the same.
 * @returns ms, whole.
 */
export function backoffMs(
  policy: Pick<AttemptPolicy, 'initialIntervalMs' | 'backoffCoefficient' | 'maximumIntervalMs'>,
  attempts: number,
  random: number,
  retryAfterMs = 0,
): number {
  const bound = Math.min(
    policy.maximumIntervalMs,
    policy.initialIntervalMs * policy.backoffCoefficient ** (attempts - 1),
  );
  // Jitter goes upward from a Retry-After: to come earlier than asked is to be refused again.
  return Math.ceil(retryAfterMs + random * (retryAfterMs > 0 ? Math.min(bound, retryAfterMs / 4) : bound));
}

/**
 * The pause of a wait that spends no attempt: it grows by half each time, to a quarter of an hour or to what was asked
 * for, if that is longer. A wait that polled at one pace would fill the history.
 *
 * @param waits Waits so far, from 1.
 */
export function waitMs(waits: number, random: number, askedMs = firstWaitMs): number {
  const grown = Math.min(Math.max(longestWaitMs, askedMs), askedMs * 1.5 ** Math.min(waits - 1, 60));
  return Math.ceil(grown * (1 + random / 4));
}

/**
 * The pause until a lease that somebody holds is over: never shorter, and growing where it is renewed again and again.
 *
 * @param waits Waits so far, from 1.
 */
export function leaseWaitMs(waits: number, random: number, leaseLeftMs: number): number {
  return Math.ceil(Math.max(leaseLeftMs + random * takeOverJitterMs, waitMs(waits, random)));
}

/** A duration in words that a person reads in the Web UI: `8.4 s`, `12 min`, `2.5 h`. */
export function inWords(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}
