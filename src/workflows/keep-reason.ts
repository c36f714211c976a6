import { cutText } from '../identity/cut-text.js';
import type { AttemptReason, FailureDetail } from './contract.js';

/** The dead letter keeps the first reasons and the last ones; what lies between is in the history. */
const firstKept = 5;
const lastKept = 20;

/** Adds the reason of a failed attempt or wait, in bounded space. */
export function keepReason(reasons: AttemptReason[], attempt: number, failure: FailureDetail): void {
  reasons.push({
    attempt,
    at: new Date(Date.now()).toISOString(),
    code: failure.code,
    message: cutText(failure.message, 500),
  });
  if (reasons.length > firstKept + lastKept) reasons.splice(firstKept, 1);
}
