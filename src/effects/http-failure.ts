import { headerRetryAfterMs } from './header-retry-after.js';
import { isHttpStatus } from './http-status.js';

/**
 * A response, as far as its failure needs it: of `fetch`, of undici's `request`, of Node, of axios, or the like. One of
 * `status` and `statusCode` is there.
 */
export interface HttpResponse {
  readonly status?: number;
  readonly statusCode?: number | undefined;
  /** `Headers`, or an object with lower-case names. */
  readonly headers?: object;
  /** Of `fetch`: the response came from where a redirect led to. */
  readonly redirected?: boolean;
}

/**
 * A response that is no success. A 4xx other than 408, 409, 425 and 429 proves that nothing was done, unless a redirect
 * came before it. The attempt fails with the code `http_<status>`, which `nonRetryableErrorTypes` can name.
 */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  /** Whether a redirect was followed before: then the status does not speak for the first recipient. */
  readonly redirected: boolean;
  /** The earliest next try that the response asked for, in ms; undefined where it asked for none. */
  readonly retryAfterMs: number | undefined;

  /** @param status 100 to 599. */
  constructor(
    status: number,
    options: { readonly redirected?: boolean; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(`HTTP ${status}`);
    this.status = status;
    this.redirected = options.redirected === true;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * Makes the error to throw for a response that is no success: `if (!response.ok) throw httpFailure(response)`. It holds the
 * status and the wish of Retry-After (seconds or a date), never the body, which may hold what no log should.
 *
 * @throws {TypeError} Where the response has no status from 100 to 599.
 */
export function httpFailure(response: HttpResponse): HttpError {
  const status = response.status ?? response.statusCode;
  if (!isHttpStatus(status)) {
    throw new TypeError('httpFailure: expected a response with a `status` or `statusCode` from 100 to 599');
  }
  return new HttpError(status, {
    redirected: response.redirected === true,
    retryAfterMs: headerRetryAfterMs(response.headers, Date.now()),
  });
}
