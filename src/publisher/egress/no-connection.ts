import type { NoResponseCode } from '../decisions.js';

/** Why an exchange brought no status: what the network met, or where the URL leads. */
export type NoExchangeCode = NoResponseCode | 'destination_refused';

/**
 * No connection came about, so nothing was sent. Its codes must be none of undici's: undici would try again by itself
 * after some of those.
 */
export class NoConnection extends Error {
  override readonly name = 'NoConnection';
  readonly code: NoExchangeCode;

  constructor(code: NoExchangeCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
