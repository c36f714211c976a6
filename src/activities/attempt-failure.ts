import { ApplicationFailure } from '@temporalio/common';
import type { FailureDetail } from '../workflows/contract.js';

/**
 * The failure that the history keeps for an attempt. Its type is the stable code; the loop in the workflow reads the
 * detail, never the message. The cause is left out, since its stack and fields may hold a payload.
 */
export function attemptFailure(detail: FailureDetail): ApplicationFailure {
  return ApplicationFailure.create({
    type: detail.code,
    message: detail.message,
    nonRetryable: detail.permanent,
    details: [detail],
  });
}
