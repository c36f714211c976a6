import type { AbandonRequest } from './contract.js';

/**
 * Judges the argument of an `abandon` update before it is accepted.
 *
 * @throws {TypeError} Where it does not say who asks, and why.
 */
export function checkAbandon(request: AbandonRequest): void {
  const { by, reason } = (request ?? {}) as Partial<AbandonRequest>;
  if (typeof by !== 'string' || by.trim() === '') throw new TypeError('abandon needs "by": who asks for it');
  if (typeof reason !== 'string' || reason.trim() === '') throw new TypeError('abandon needs a "reason"');
}
