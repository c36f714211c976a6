import { errorChain } from './error-chain.js';
import { headerRetryAfterMs } from './header-retry-after.js';
import { carriedStatuses } from './http-status.js';

/** What an HTTP status makes of a failure. */
export interface CarriedFailure {
  /** `http_<status>`. */
  readonly code: string;
  /** The earliest next try that the response asked for, in ms. */
  readonly retryAfterMs?: number;
}

/**
 * Finds the HTTP status that an error or the first of its causes carries, and what its response asked for in Retry-After.
 * Never throws.
 *
 * @param nowMs What a date in Retry-After is measured from, in ms since 1970.
 */
export function carriedFailure(thrown: unknown, nowMs: number): CarriedFailure | undefined {
  try {
    for (const error of errorChain(thrown) ?? []) {
      const [found] = carriedStatuses(error);
      if (found) return { code: `http_${found.status}`, ...wish(error, nowMs) };
    }
  } catch {
    // A getter or proxy of a stranger's error threw: it is then an error like any other.
  }
  return undefined;
}

function wish(error: object, nowMs: number): { retryAfterMs?: number } {
  const { retryAfterMs, headers, response } = error as {
    retryAfterMs?: unknown;
    headers?: unknown;
    response?: { headers?: unknown } | null;
  };
  const asked =
    typeof retryAfterMs === 'number' && retryAfterMs >= 0
      ? retryAfterMs
      : (headerRetryAfterMs(headers, nowMs) ?? headerRetryAfterMs(response?.headers, nowMs));
  return asked === undefined ? {} : { retryAfterMs: asked };
}
