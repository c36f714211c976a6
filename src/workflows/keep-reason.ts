import { cutText } from '../identity/cut-text.js';
import type { AttemptReason, FailureDetail } from './contract.js';

/** The dead letter keeps the first reasons and the last ones; what lies between is in the history. */
const firstKept = 5;
const lastKept = 20;

/** Adds the reason of a failed attempt or wait, in bounded space. */
export function keepReason(
  reasons: (AttemptReason & { readonly status?: number })[],
  attempt: number,
  failure: Pick<FailureDetail, 'code' | 'message'>,
  more: { readonly status?: number } = {},
): void {
  reasons.push({
    attempt,
    at: new Date(Date.now()).toISOString(),
    code: failure.code,
    message: cutText(failure.message, 500),
    ...more,
  });
  if (reasons.length > firstKept + lastKept) reasons.splice(firstKept, 1);
}
