import { type ErrorCode, OnefoldError } from '../errors.js';

/** What an answer needs to know beyond the code. */
export interface RefusalDetails {
  /** The finer reason, for the log line; free of secrets and payload. */
  readonly reason?: string;
  /** Replaces the table's Retry-After where it is longer. */
  readonly retryAfterSeconds?: number;
  /** Part of the body was not read, so the connection cannot be used again. */
  readonly closeConnection?: boolean;
  /** Headers that the answer carries, such as `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** A delivery that is refused at the door: the code leads to the answer, and no workflow was started for it. */
export class DeliveryRefused extends OnefoldError {
  readonly details: RefusalDetails;

  constructor(code: ErrorCode, message: string, details: RefusalDetails = {}) {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause });
    this.details = details;
  }
}
