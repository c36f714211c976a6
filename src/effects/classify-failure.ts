import { OnefoldError } from '../errors.js';
import { cutText } from '../identity/cut-text.js';
import type { FailureDetail } from '../workflows/contract.js';
import { carriedFailure } from './carried-failure.js';
import { readVerdict } from './errors.js';
import { HttpError } from './http-failure.js';

/** PostgreSQL's conditions under which the same transaction may succeed when tried again. */
const transientStates: Readonly<Record<string, string>> = {
  '40001': 'serialization_failure',
  '40P01': 'deadlock_detected',
  '25P03': 'idle_in_transaction_session_timeout',
  '53300': 'too_many_connections',
  '55P03': 'lock_not_available',
  '57014': 'query_canceled',
  '57P01': 'admin_shutdown',
  '57P02': 'crash_shutdown',
  '57P03': 'cannot_connect_now',
};

/** Codes after which no further attempt helps. */
const permanentCodes = new Set<string>([
  'permanent_error',
  'data_invalid',
  'business_key_invalid',
  'transaction_split',
  'claim_without_completion',
  'result_not_json',
  'result_too_large',
  'payload_missing',
  'input_malformed',
  'abandoned',
  'effect_parked',
  'replay_refused',
  'version_invalid',
]);

/**
 * Codes of attempts that were none: they wait without spending the budget of attempts. Without a connection an attempt has
 * not begun, and a database that is away for an hour is no reason to give an event up.
 */
const uncountedCodes = new Set<string>([
  'not_yet',
  'claim_waiting',
  'outcome_settling',
  'effect_superseded',
  'effect_paused',
  'worker_shutdown',
  'cancelled',
  'effect_unknown',
  'ledger_unavailable',
]);

/** First pause between two looks at something that a person has paused, ms: resuming tells whoever waits. */
const pausedLookMs = 15_000;

/** Whether an attempt that ended with a code is none to the budget: it only waited. */
export function isWaitCode(code: string): boolean {
  return uncountedCodes.has(code);
}

const messageLimit = 500;

/**
 * Says what a thrown error means for the attempts to come.
 *
 * @param nonRetryable The policy's `nonRetryableErrorTypes`: codes, SQLSTATEs or error names.
 */
export function classifyFailure(thrown: unknown, nonRetryable: readonly string[]): FailureDetail {
  const { code, message, retryAfterMs } = read(thrown);
  const names = [code, ...aliases(thrown)];
  return {
    code,
    message: cutText(message, messageLimit),
    permanent: permanentCodes.has(code) || names.some((name) => nonRetryable.includes(name)),
    counted: !isWaitCode(code),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function read(thrown: unknown): { code: string; message: string; retryAfterMs?: number | undefined } {
  const verdict = readVerdict(thrown);
  const message = thrown instanceof Error ? String(thrown.message) : `threw ${typeof thrown}, not an Error`;
  if (verdict) return { ...verdict, message };
  if (thrown instanceof OnefoldError) {
    return { code: thrown.code, message, ...(thrown.code === 'effect_paused' ? { retryAfterMs: pausedLookMs } : {}) };
  }
  const state = sqlState(thrown);
  if (state && (state in transientStates || state.startsWith('08'))) {
    return { code: 'database_transient', message: `${transientStates[state] ?? 'connection_exception'} (${state})` };
  }
  if (lostConnection(thrown)) return { code: 'database_transient', message: 'the connection to PostgreSQL was lost' };
  const name = thrown instanceof Error ? thrown.name : 'value';
  const http = carriedFailure(thrown, Date.now());
  if (http) return { ...http, message: thrown instanceof HttpError ? message : `${name}: ${message}` };
  return { code: 'effect_threw', message: state ? `${name} ${state}: ${message}` : `${name}: ${message}` };
}

function aliases(thrown: unknown): string[] {
  const { code, name } = (thrown ?? {}) as { code?: unknown; name?: unknown };
  return [code, name].filter((value): value is string => typeof value === 'string');
}

/** SQLSTATE of an error of PostgreSQL: five characters, beside a severity, which no other error has. */
export function sqlState(thrown: unknown): string | undefined {
  const { code, severity } = (thrown ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && code.length === 5 && severity !== undefined ? code : undefined;
}

function lostConnection(thrown: unknown): boolean {
  return (
    thrown instanceof Error && /^Connection terminated|^Client has encountered a connection error/.test(thrown.message)
  );
}
