import { refuse } from './refuse.js';
import type { Refusal } from './source.js';

/** 300 s, what Standard Webhooks' and Stripe's own libraries allow. */
export const defaultTolerance = '300 seconds';

/** Ten digits carry Unix seconds to the year 2286; thirteen are milliseconds, a mistake of the sender. */
const unixSeconds = /^\d{1,11}$/;

/**
 * Judges a signed timestamp in Unix seconds: is it near enough to now, on both sides? The age is counted in whole
 * seconds, as the sender counted, so that a timestamp of exactly the tolerance is accepted.
 *
 * @param text The header's text, since that is what was signed. Whoever signs a parsed number instead accepts
 *   `1770091506abc`.
 * @returns undefined for a timestamp within the tolerance.
 */
export function judgeTimestamp(text: string, now: Date, toleranceMs: number): Refusal | undefined {
  if (!unixSeconds.test(text)) {
    return refuse(
      'signature_malformed',
      'malformed_header',
      'the timestamp is not a whole number of Unix seconds in digits',
    );
  }
  const ageMs = (Math.floor(now.getTime() / 1000) - Number(text)) * 1000;
  if (ageMs > toleranceMs) {
    return refuse('timestamp_too_old', 'timestamp_too_old', distance(ageMs, toleranceMs, 'back'));
  }
  if (-ageMs > toleranceMs) {
    return refuse('timestamp_too_new', 'timestamp_too_new', distance(-ageMs, toleranceMs, 'ahead'));
  }
  return undefined;
}

function distance(ms: number, toleranceMs: number, direction: string): string {
  return `the timestamp lies ${ms / 1000} s ${direction}, and ${toleranceMs / 1000} s are tolerated`;
}
