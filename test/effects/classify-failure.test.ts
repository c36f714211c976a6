import { expect, test } from 'vitest';
import { classifyFailure, sqlState } from '../../src/effects/classify-failure.js';
import { NotDoneError, NotYetError, OutcomeUnknownError, PermanentError } from '../../src/effects/errors.js';
import { type ErrorCode, OnefoldError } from '../../src/errors.js';

/** An error as `pg` throws it. */
const postgres = (code: string, message = 'from PostgreSQL') =>
  Object.assign(new Error(message), { code, severity: 'ERROR', name: 'error' });

const retried = { permanent: false, counted: true };
const waits = { permanent: false, counted: false };
const final = { permanent: true, counted: true };

test.each<[string, unknown, object]>([
  ['an error of business code', new Error('no'), { code: 'effect_threw', message: 'Error: no', ...retried }],
  ['a TypeError', new TypeError('no'), { code: 'effect_threw', message: 'TypeError: no', ...retried }],
  ['a string', 'secret payload', { code: 'effect_threw', message: 'value: threw string, not an Error', ...retried }],
  ['undefined', undefined, { code: 'effect_threw', ...retried }],
  ['null', null, { code: 'effect_threw', ...retried }],
  ['an error whose message is none', Object.assign(new Error(), { message: 7 }), { message: 'Error: 7', ...retried }],
  ['a pause', new OnefoldError('effect_paused', 'paused'), { code: 'effect_paused', retryAfterMs: 15_000, ...waits }],
  ['NotYetError', new NotYetError('60s'), { code: 'not_yet', retryAfterMs: 60_000, ...waits }],
  ['PermanentError', new PermanentError('never'), { code: 'permanent_error', message: 'never', ...final }],
  ['NotDoneError', new NotDoneError('no'), { code: 'not_done', ...retried }],
  [
    'NotDoneError with a delay',
    new NotDoneError('no', { retryAfter: 5 }),
    { code: 'not_done', retryAfterMs: 5, ...retried },
  ],
  ['OutcomeUnknownError', new OutcomeUnknownError('?'), { code: 'outcome_unknown', ...retried }],
  [
    'a serialization failure',
    postgres('40001'),
    { code: 'database_transient', message: 'serialization_failure (40001)', ...retried },
  ],
  ['a deadlock', postgres('40P01'), { code: 'database_transient', message: 'deadlock_detected (40P01)', ...retried }],
  ['a lock timeout in the effect', postgres('55P03'), { code: 'database_transient', ...retried }],
  ['a statement timeout', postgres('57014'), { code: 'database_transient', ...retried }],
  ['a shutdown of PostgreSQL', postgres('57P01'), { code: 'database_transient', ...retried }],
  [
    'a broken connection',
    postgres('08006'),
    { code: 'database_transient', message: 'connection_exception (08006)', ...retried },
  ],
  ['an idle transaction that was ended', postgres('25P03'), { code: 'database_transient', ...retried }],
  ['a lost connection', new Error('Connection terminated unexpectedly'), { code: 'database_transient', ...retried }],
  [
    'a unique violation',
    postgres('23505'),
    { code: 'effect_threw', message: 'error 23505: from PostgreSQL', ...retried },
  ],
  [
    'an error of Node, which is no SQLSTATE',
    Object.assign(new Error('x'), { code: 'EPIPE' }),
    { code: 'effect_threw', ...retried },
  ],
])('%s', (_what, thrown, expected) => {
  expect(classifyFailure(thrown, [])).toMatchObject(expected);
});

test.each<[ErrorCode, object]>([
  ['data_invalid', final],
  ['business_key_invalid', final],
  ['payload_missing', final],
  ['input_malformed', final],
  ['abandoned', final],
  ['effect_parked', final],
  ['version_invalid', final],
  ['transaction_split', final],
  ['claim_without_completion', final],
  ['result_not_json', final],
  ['result_too_large', final],
  ['planning_failed', retried],
  ['transaction_aborted', retried],
  ['attempt_timed_out', retried],
  ['claim_waiting', waits],
  ['outcome_settling', waits],
  ['effect_superseded', waits],
  ['ledger_unavailable', waits],
  ['worker_shutdown', waits],
  ['effect_unknown', waits],
  ['cancelled', waits],
])('the code %s', (code, expected) => {
  expect(classifyFailure(new OnefoldError(code, 'why'), [])).toMatchObject({ code, message: 'why', ...expected });
});

test.each([
  ['a code of ours', new OnefoldError('transaction_aborted', 'why'), 'transaction_aborted'],
  ['an SQLSTATE', postgres('23505'), '23505'],
  ['an error name', new RangeError('no'), 'RangeError'],
  ["an error's own code", Object.assign(new Error('x'), { code: 'card_declined' }), 'card_declined'],
])('%s in nonRetryableErrorTypes makes the failure final', (_what, thrown, name) => {
  expect(classifyFailure(thrown, [name]).permanent).toBe(true);
  expect(classifyFailure(thrown, ['another']).permanent).toBe(false);
});

test.each<[string, object, object]>([
  ['status', { status: 422 }, { code: 'http_422' }],
  ['statusCode', { statusCode: 402 }, { code: 'http_402' }],
  ["its response's status", { response: { status: 503 } }, { code: 'http_503' }],
  ["its response's statusCode", { response: { statusCode: 503 } }, { code: 'http_503' }],
  ['$metadata', { $metadata: { httpStatusCode: 400 } }, { code: 'http_400' }],
  ["its cause's status", { cause: Object.assign(new Error('inner'), { status: 404 }) }, { code: 'http_404' }],
  ['a status that HTTP has not', { status: 99 }, { code: 'effect_threw' }],
  ['a status in words', { status: '404' }, { code: 'effect_threw' }],
  [
    'headers beside the status',
    { statusCode: 429, headers: { 'retry-after': '7' } },
    { code: 'http_429', retryAfterMs: 7000 },
  ],
  [
    "its response's headers",
    { response: { status: 503, headers: new Headers({ 'Retry-After': '7' }) } },
    { code: 'http_503', retryAfterMs: 7000 },
  ],
])('an error that carries %s has the code of it', (_where, fields, expected) => {
  const thrown = Object.assign(new Error('refused'), fields);
  expect(classifyFailure(thrown, [])).toMatchObject({ message: 'Error: refused', ...retried, ...expected });
});

test('a status named in nonRetryableErrorTypes makes the failure final', () => {
  const refused = Object.assign(new Error('refused'), { status: 422 });
  expect(classifyFailure(refused, ['http_422']).permanent).toBe(true);
  expect(classifyFailure(refused, ['http_400']).permanent).toBe(false);
});

test('the verdict of an error wins over the status it carries', () => {
  const later = Object.assign(new NotDoneError('busy', { retryAfter: 5 }), { status: 503 });
  expect(classifyFailure(later, [])).toMatchObject({ code: 'not_done', retryAfterMs: 5 });
});

test('an error whose status cannot be read is one like any other', () => {
  const hostile = Object.defineProperty(new Error('no'), 'status', {
    get() {
      throw new Error('getter');
    },
  });
  expect(classifyFailure(hostile, [])).toMatchObject({ code: 'effect_threw' });
});

test('a verdict is understood across copies of the package', () => {
  const foreign = Object.assign(new Error('later'), {
    [Symbol.for('onefold.effect-verdict')]: { code: 'not_yet', retryAfterMs: 7 },
  });
  expect(classifyFailure(foreign, [])).toMatchObject({ code: 'not_yet', retryAfterMs: 7, counted: false });
});

test('a long message is cut', () => {
  expect(classifyFailure(new PermanentError('x'.repeat(9999)), []).message).toHaveLength(500);
});

test('only an error with a severity has an SQLSTATE', () => {
  expect(sqlState(postgres('40001'))).toBe('40001');
  expect(sqlState({ code: 'EPIPE', severity: undefined })).toBeUndefined();
  expect(sqlState('40001')).toBeUndefined();
});
