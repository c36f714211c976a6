import type { ErrorCode } from '../errors.js';
import type { Refusal } from './source.js';

/** Refuses a request. The message must be free of secrets and payload, since it is logged and answered. */
export function refuse(code: ErrorCode, reason: Refusal['reason'], message: string): Refusal {
  return { ok: false, code, reason, message };
}
