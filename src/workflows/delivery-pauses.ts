import type { DeliveryPolicy, FailedSend } from './delivery-contract.js';

/** The least width of the jitter, ms: what failed together spreads over seconds even after the shortest pauses. */
const jitterFloorMs = 5_000;

/** Jitter is this part of a pause. */
const jitterPart = 0.25;

/** Holds and waits for a limit poll with a pause that grows to this. */
const longestWaitMs = 15 * 60_000;

/** Attempts of a delivery at most. */
export function maximumAttempts({ pausesMs }: DeliveryPolicy): number {
  return pausesMs.length + 1;
}

/** A pause with its jitter, which only ever adds to it: to come earlier than planned, or asked, helps nobody. */
function jittered(pauseMs: number, random: number): number {
  return pauseMs + Math.ceil(random * Math.max(pauseMs * jitterPart, Math.min(pauseMs, jitterFloorMs)));
}

/** What is to happen after a failed attempt. */
export type NextSend =
  /** Unix ms. */
  | { readonly kind: 'at'; readonly at: number }
  | { readonly kind: 'budget_spent' }
  | { readonly kind: 'retry_after_exceeds_budget' };

/**
 * The moment of the next attempt, or that there is none: the schedule's pause or the wish of Retry-After, whichever is
 * longer, and within the elapsed budget.
 *
 * @param attempts Made so far, from 1.
 * @param givesUpAt End of the elapsed budget, Unix ms. Jitter alone never carries a pause past it.
 */
export function nextSend(policy: DeliveryPolicy, attempts: number, failed: FailedSend, givesUpAt: number): NextSend {
  const pauseMs = policy.pausesMs[attempts - 1];
  if (pauseMs === undefined || failed.at + pauseMs > givesUpAt) return { kind: 'budget_spent' };
  if (failed.at + failed.retryAfterMs > givesUpAt) return { kind: 'retry_after_exceeds_budget' };
  const at = failed.at + jittered(Math.max(pauseMs, failed.retryAfterMs), failed.random);
  return { kind: 'at', at: Math.min(at, givesUpAt) };
}

/**
 * The pause of a wait that spends no attempt: it grows by half each time, to a quarter of an hour.
 *
 * @param waits Waits of the same kind so far, from 1.
 * @param askedMs The shortest; a longer one than a quarter of an hour is cut to that, and asked for again.
 */
export function deliveryWaitMs(waits: number, random: number, askedMs: number): number {
  const grown = Math.min(longestWaitMs, askedMs * 1.5 ** Math.min(waits - 1, 60));
  return Math.ceil(grown * (1 + random / 4));
}

/** The moments at which the remaining attempts are due if each fails at once, before jitter; Unix ms. */
export function plannedSends(
  policy: DeliveryPolicy,
  attempts: number,
  nextAt: number,
  givesUpAt: number,
): readonly number[] {
  const moments: number[] = [];
  let at = nextAt;
  for (let made = attempts; made < maximumAttempts(policy); made++) {
    if (at > givesUpAt && made > 0) break;
    moments.push(at);
    at += policy.pausesMs[made] ?? 0;
  }
  return moments;
}
