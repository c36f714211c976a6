import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import type { AttemptPolicy } from '../workflows/contract.js';

/** Temporal's RetryPolicy, and the elapsed budget beside it. Every pause gets full jitter: a random part of the interval. */
export interface RetryOptions {
  /** Upper bound of the first pause. Default '5 seconds'. */
  readonly initialInterval?: string | number;
  /** What each next bound is multiplied by, at least 1. Default 3. */
  readonly backoffCoefficient?: number;
  /** Bound that the pauses grow to. Default '8 hours'. */
  readonly maximumInterval?: string | number;
  /** Business attempts, waits not counted. Default 30. */
  readonly maximumAttempts?: number;
  /** From the first attempt on, waits counted. Default '3 days', since the larger providers retry as long. */
  readonly maximumElapsed?: string | number;
  /** Codes or error names after which no further attempt is made. */
  readonly nonRetryableErrorTypes?: readonly string[];
}

const known = [
  'initialInterval',
  'backoffCoefficient',
  'maximumInterval',
  'maximumAttempts',
  'maximumElapsed',
  'nonRetryableErrorTypes',
];

/** Longer durable timers are a mistake in the unit. */
const longest = '365 days';

/**
 * Fills in the defaults and judges the numbers.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault.
 */
export function attemptPolicy(options: RetryOptions | undefined, timeoutMs: number, place: string): AttemptPolicy {
  const given = options ?? {};
  refuseUnknownOptions(given, known, `${place}.retry`);
  const coefficient = given.backoffCoefficient ?? 3;
  if (!(coefficient >= 1 && coefficient <= 100)) {
    throw new OnefoldError(
      'config_invalid',
      `${place}.retry.backoffCoefficient: expected 1 to 100, got ${coefficient}`,
    );
  }
  const attempts = given.maximumAttempts ?? 30;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > 10_000) {
    throw new OnefoldError('config_invalid', `${place}.retry.maximumAttempts: expected 1 to 10000, got ${attempts}`);
  }
  const interval = (name: 'initialInterval' | 'maximumInterval' | 'maximumElapsed', fallback: string): number =>
    durationMs(given[name] ?? fallback, `${place}.retry.${name}`, longest);
  const types: unknown = given.nonRetryableErrorTypes ?? [];
  if (!isNames(types)) {
    throw new OnefoldError(
      'config_invalid',
      `${place}.retry.nonRetryableErrorTypes: expected a list of codes or names`,
    );
  }
  const initialIntervalMs = interval('initialInterval', '5 seconds');
  const maximumIntervalMs = interval('maximumInterval', '8 hours');
  if (maximumIntervalMs < initialIntervalMs && given.maximumInterval !== undefined) {
    throw new OnefoldError('config_invalid', `${place}.retry.maximumInterval: must not be below initialInterval`);
  }
  return Object.freeze({
    initialIntervalMs,
    backoffCoefficient: coefficient,
    maximumIntervalMs: Math.max(maximumIntervalMs, initialIntervalMs),
    maximumAttempts: attempts,
    maximumElapsedMs: interval('maximumElapsed', '3 days'),
    nonRetryableErrorTypes: [...types],
    timeoutMs,
  });
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '');
}
