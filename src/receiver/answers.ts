import type { ErrorCode } from '../errors.js';
import type { Acknowledge } from '../sources/source.js';
import type { DeliveryPath } from './delivery-path.js';

/** What one case is answered in one mode. */
export interface AnswerCell {
  readonly status: number;
  /** Stable code of an error answer; success answers have none. */
  readonly code?: ErrorCode;
  /** Retry-After in seconds; of a rate limit the least, since the bucket may ask for more. */
  readonly retryAfterSeconds?: number;
}

/** One row of the table: the case in words, and its answer in either mode; null where the mode cannot meet the case. */
export type AnswerRow = { readonly meaning: string } & { readonly [Mode in Acknowledge]: AnswerCell | null };

/** The cases that are neither a path nor an error code of their own. */
type SettledCase = 'settled_too_late';

/** Everything a delivery can be answered for. */
export type AnswerCase = DeliveryPath | SettledCase | ErrorCode;

const success = (meaning: string, durable: AnswerCell | null, settled: AnswerCell | null): AnswerRow => ({
  meaning,
  durable,
  settled,
});

const error = (code: ErrorCode, meaning: string, status: number, retryAfterSeconds?: number): AnswerRow => {
  const cell = { status, code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  return { meaning, durable: cell, settled: cell };
};

/**
 * Every answer of the receiver: case × acknowledge mode → status, code, Retry-After. The receiver answers from it,
 * docs/answers.md is generated from it, and a test goes through it row by row over HTTP.
 */
export const answers = {
  first_run: success(
    'The event was never seen; it is recorded now.',
    { status: 202 },
    { status: 200 }, // with the outcome
  ),
  retry_after_failure: success(
    'The earlier execution failed, timed out or was terminated; a new one is recorded.',
    { status: 202 },
    { status: 200 },
  ),
  settled_too_late: success(
    'The event is recorded, and its outcome did not come before the deadline.',
    null, // nobody waits
    { status: 202 },
  ),
  duplicate_done: success(
    'The event was processed before; the stored outcome is answered.',
    { status: 200 },
    { status: 200 },
  ),
  in_progress_elsewhere: success(
    'The event is being processed, started by another delivery.',
    { status: 202 },
    // A caller that waits for outcomes is told that there is none yet.
    { status: 409, code: 'processing', retryAfterSeconds: 5 },
  ),
  ignored: success('No effect subscribes to the type of the event.', { status: 200 }, { status: 200 }),

  effect_failed: {
    meaning: 'An effect of the event failed for good while the request waited.',
    durable: null,
    settled: { status: 500, code: 'effect_failed' },
  },

  identity_missing: error('identity_missing', 'The event has no event identity.', 400),
  identity_invalid: error('identity_invalid', 'The event identity or the tenant is too long or not text.', 400),
  type_missing: error('type_missing', 'The event has no type.', 400),
  body_malformed: error('body_malformed', 'The body is not what the source reads.', 400),
  body_too_deep: error('body_too_deep', 'The JSON is nested too deep.', 400),
  signature_missing: error('signature_missing', 'No signature.', 401),
  signature_malformed: error('signature_malformed', 'A signature or timestamp that has not the form demanded.', 401),
  signature_mismatch: error('signature_mismatch', 'A signature that no secret produces.', 401),
  signature_scheme_unsupported: error('signature_scheme_unsupported', 'Signed in another scheme only.', 401),
  timestamp_too_old: error('timestamp_too_old', 'Signed too long ago.', 401),
  timestamp_too_new: error('timestamp_too_new', 'Signed in the future.', 401),
  unknown_source: error('unknown_source', 'The path names no source.', 404),
  method_not_allowed: error('method_not_allowed', 'Not POST; `allow` names the method.', 405),
  body_too_large: error('body_too_large', 'The body exceeds the limit of the source; the connection is closed.', 413),
  body_unreadable: error('body_unreadable', 'A content type or encoding that the source cannot read.', 415),
  body_differs: error('body_differs', 'A known event identity with another body, where the source refuses that.', 422),
  rate_limited: error('rate_limited', 'More requests than the rate limit of the source.', 429, 1),
  backlog_full: error('backlog_full', 'The oldest waiting event is older than the backlog limit.', 503, 30),
  temporal_unavailable: error('temporal_unavailable', 'Temporal did not record the event in time.', 503, 5),
  start_refused: error('start_refused', 'Temporal refused the start; a fault of set-up.', 503, 60),
  ledger_unavailable: error(
    'ledger_unavailable',
    'PostgreSQL did not store a large body, or an ignored event that the source records.',
    503,
    5,
  ),
  shutting_down: error('shutting_down', 'This process is draining; the connection is closed.', 503, 1),
  body_already_parsed: error('body_already_parsed', 'Another middleware consumed the body.', 500),
  internal_error: error('internal_error', 'A defect, or a function of the configuration that threw.', 500),
} as const satisfies Partial<Record<AnswerCase, AnswerRow>>;

/** A case that the table has. */
export type AnsweredCase = keyof typeof answers;

/** Whether a code is one that the receiver answers with; any other is a defect at the door. */
export function isAnswered(code: string): code is AnsweredCase {
  return Object.hasOwn(answers, code);
}

/**
 * The answer for a case. The mode counts only where the row says so.
 *
 * @param successStatus The source's fixed status for successes, which replaces every 2xx.
 */
export function answerFor(answered: AnsweredCase, mode: Acknowledge, successStatus?: number): AnswerCell {
  const row: AnswerRow = answers[answered];
  const cell = row[mode] ?? row[mode === 'durable' ? 'settled' : 'durable'];
  if (!cell) throw new TypeError(`the case ${answered} has no answer`);
  return successStatus !== undefined && cell.status < 300 ? { ...cell, status: successStatus } : cell;
}
