import type { AttemptPolicy } from '../../workflows/contract.js';
import { durationInWords } from './duration-in-words.js';

/** How long an effect is tried, as time. Waits that spend no attempt, such as for another event's claim, come on top. */
export interface Budget {
  readonly maximumAttempts: number;
  readonly maximumElapsedMs: number;
  /** Which bound ends it: the attempts, the elapsed time, or whichever comes first in the single case. */
  readonly endsBy: 'attempts' | 'elapsed' | 'either';
  /** Until the last attempt begins, where each pause is half its bound, as full jitter makes it on average, ms. */
  readonly typicalMs: number;
  /** The same where each pause is its whole bound and each attempt takes as long as it may, ms. */
  readonly longestMs: number;
  /** Attempts made by then where each pause is half its bound. */
  readonly typicalAttempts: number;
  /** In words: `gives up after 8 attempts, about 3 days; at most 6 days`. */
  readonly text: string;
}

/**
 * Reckons what a policy comes to: the sum of its pauses' bounds up to its attempts or its elapsed time, whichever is first.
 *
 * @param attemptMs How long an attempt may take before the next one can follow it, ms.
 */
export function describeBudget(policy: AttemptPolicy, attemptMs: number): Budget {
  const { maximumAttempts, maximumElapsedMs } = policy;
  const typical = run(policy, (boundMs) => boundMs / 2);
  const longest = run(policy, (boundMs) => boundMs + attemptMs);
  const endsBy = typical.cut ? 'elapsed' : longest.cut ? 'either' : 'attempts';
  const budget = {
    maximumAttempts,
    maximumElapsedMs,
    endsBy,
    typicalMs: Math.round(typical.ms),
    longestMs: Math.round(longest.ms),
    typicalAttempts: typical.attempts,
  } as const;
  return { ...budget, text: inWords(budget) };
}

/** Goes through the attempts as `backoffMs` of the workflows paces them. */
function run(
  policy: AttemptPolicy,
  stepMs: (boundMs: number) => number,
): { readonly ms: number; readonly attempts: number; readonly cut: boolean } {
  let ms = 0;
  for (let attempts = 1; attempts < policy.maximumAttempts; attempts++) {
    const grown = policy.initialIntervalMs * policy.backoffCoefficient ** (attempts - 1);
    const next = ms + stepMs(Math.min(policy.maximumIntervalMs, grown));
    // An attempt whose pause would end beyond the elapsed time is not made.
    if (next > policy.maximumElapsedMs) return { ms: policy.maximumElapsedMs, attempts, cut: true };
    ms = next;
  }
  return { ms, attempts: policy.maximumAttempts, cut: false };
}

function inWords(budget: Omit<Budget, 'text'>): string {
  const { maximumAttempts, maximumElapsedMs, endsBy, typicalMs, longestMs, typicalAttempts } = budget;
  if (maximumAttempts === 1) return 'gives up after a single attempt';
  const elapsed = durationInWords(maximumElapsedMs);
  if (endsBy === 'elapsed') return `gives up after ${elapsed}, by then about ${counted(typicalAttempts)}`;
  const typical = `gives up after ${counted(maximumAttempts)}, about ${durationInWords(typicalMs)}`;
  return endsBy === 'either' ? `${typical}; at most ${elapsed}` : `${typical}; at most ${durationInWords(longestMs)}`;
}

function counted(attempts: number): string {
  return attempts === 1 ? 'one attempt' : `${attempts} attempts`;
}
