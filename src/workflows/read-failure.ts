import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import type { FailureDetail } from './contract.js';

/** Reads what a failed attempt told, whoever failed it: the attempt itself, the server by a timeout, or a hand. */
export function readFailure(error: unknown): FailureDetail {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const detail: unknown = cause.details?.[0];
    if (isFailureDetail(detail)) return detail;
    if (cause.type === 'WorkerShutdown') {
      return { code: 'worker_shutdown', message: 'the worker was stopped', permanent: false, counted: false };
    }
    return {
      code: cause.type ?? 'effect_threw',
      message: cause.message,
      permanent: cause.nonRetryable === true,
      counted: true,
    };
  }
  if (cause instanceof TimeoutFailure) {
    const why =
      cause.timeoutType === 'HEARTBEAT'
        ? 'its worker died or froze'
        : `the server saw no end of it in time (${String(cause.timeoutType).toLowerCase()})`;
    return { code: 'attempt_timed_out', message: why, permanent: false, counted: true };
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return { code: 'internal_error', message, permanent: false, counted: true };
}

function isFailureDetail(value: unknown): value is FailureDetail {
  if (typeof value !== 'object' || value === null) return false;
  const detail = value as Partial<FailureDetail>;
  return (
    typeof detail.code === 'string' &&
    typeof detail.message === 'string' &&
    typeof detail.permanent === 'boolean' &&
    typeof detail.counted === 'boolean'
  );
}
