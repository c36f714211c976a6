import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { headerRetryAfterMs } from '../../effects/header-retry-after.js';
import { cutText } from '../../identity/cut-text.js';
import type { ResponseSummary } from '../../workflows/delivery-contract.js';
import { NoConnection, type NoExchangeCode } from './no-connection.js';
import { ResponseBody } from './response-body.js';
import { hostOf } from './url-host.js';

/** What came of one request. */
export type Exchange =
  | {
      readonly kind: 'response';
      readonly response: ResponseSummary;
      /** What Retry-After asks for, ms, at any status; which of them heed it is the decision table's affair. */
      readonly retryAfterMs?: number;
      /** Where a redirect would have led, for people to read; at most 256 characters. */
      readonly location?: string;
    }
  | {
      readonly kind: 'no_response';
      readonly code: NoExchangeCode;
      /** Names the host at most, never the address behind it. */
      readonly message: string;
      /** False where it is certain that no byte of the request was sent. */
      readonly mayHaveArrived: boolean;
      readonly durationMs: number;
    };

/** What {@link exchange} sends. */
export interface ExchangeRequest {
  /** Judged before. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Of the whole exchange, ms. */
  readonly timeoutMs: number;
  /** From sending to the end of the response's headers, ms. */
  readonly headersTimeoutMs: number;
  readonly signal?: AbortSignal;
  /** Called once, when the state becomes `sent`. */
  readonly onSending?: () => void;
}

/** What ends an exchange before its time; undici wants an error to destroy the socket with. */
const ended = new Error('the exchange is over');

/**
 * Sends one request, once, and reads the beginning of its response.
 *
 * state        leaves it                                             what is known if it ends here
 * connecting   undici has a connection and begins to write           nothing was sent
 * sent         the final status comes                                the receiver may have acted
 * answered     the body ends, breaks off, is long enough or too slow the status, which is all that counts
 *
 * Every timer is ours: undici's own are late by up to a second, and begin anew with each byte.
 *
 * @returns A promise that rejects only with the reason of the signal, or with a defect such as a header that is none.
 */
export function exchange(agent: Dispatcher, request: ExchangeRequest, now: () => number): Promise<Exchange> {
  const { url, headers, body, signal } = request;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const run = new ExchangeRun(request, now, resolve, reject);
    agent.dispatch({ origin: url.origin, path: `${url.pathname}${url.search}`, method: 'POST', headers, body }, run);
  });
}

/** One exchange as undici drives it. */
class ExchangeRun implements Dispatcher.DispatchHandler {
  readonly #request: ExchangeRequest;
  readonly #now: () => number;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #startedAt = performance.now();
  readonly #body = new ResponseBody();
  readonly #deadline: NodeJS.Timeout;
  #headersTimer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #answer: { readonly status: number; readonly headers: IncomingHttpHeaders } | undefined;
  #settled = false;

  constructor(
    request: ExchangeRequest,
    now: () => number,
    resolve: (exchange: Exchange) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#request = request;
    this.#now = now;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deadline = setTimeout(this.#tooLate, request.timeoutMs);
    request.signal?.addEventListener('abort', this.#aborted, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while connecting, or written once before. Where it is aborted here, undici writes nothing.
    if (this.#settled || this.#controller) {
      controller.abort(ended);
      return;
    }
    this.#controller = controller;
    const { headersTimeoutMs, timeoutMs, onSending } = this.#request;
    onSending?.();
    if (headersTimeoutMs < timeoutMs) this.#headersTimer = setTimeout(this.#tooLate, headersTimeoutMs);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // On the way to the answer, such as 103 Early Hints. 101 is an answer, to something that was not asked.
    if (status > 101 && status < 200) return;
    clearTimeout(this.#headersTimer);
    this.#answer = { status, headers };
    if (status <= 101) this.#end();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#body.take(chunk)) this.#end();
  }

  onResponseEnd(): void {
    this.#body.end();
    this.#end({ keepConnection: true });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    const status = unaskedStatus(error);
    if (status !== undefined) this.#answer = { status, headers: {} };
    if (isDefect(error)) this.#fail(error);
    // Once the status is known it decides, however the body ends.
    else if (this.#answer) this.#end();
    else if (error instanceof NoConnection) this.#endWithout(error.code, error.message);
    else {
      const code = brokenCode(error);
      this.#endWithout(code, `${brokenInWords[code]} ${hostOf(this.#request.url)}`);
    }
  }

  readonly #tooLate = (): void => {
    const host = hostOf(this.#request.url);
    if (this.#answer) this.#end();
    else if (this.#controller)
      this.#endWithout('response_timeout', `no answer from ${host} within ${this.#passed()} ms`);
    else this.#endWithout('connect_timeout', `no connection to ${host} within ${this.#passed()} ms`);
  };

  readonly #aborted = (): void => {
    this.#fail(this.#request.signal?.reason);
  };

  #fail(reason: unknown): void {
    this.#close(false);
    this.#reject(reason);
  }

  #end({ keepConnection = false } = {}): void {
    if (this.#settled) return;
    this.#close(keepConnection);
    this.#resolve(this.#response());
  }

  #endWithout(code: NoExchangeCode, message: string): void {
    this.#close(false);
    const mayHaveArrived = this.#controller !== undefined;
    this.#resolve({ kind: 'no_response', code, message, mayHaveArrived, durationMs: this.#passed() });
  }

  #close(keepConnection: boolean): void {
    this.#settled = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#headersTimer);
    this.#request.signal?.removeEventListener('abort', this.#aborted);
    if (!keepConnection) this.#controller?.abort(ended);
  }

  #response(): Exchange {
    const { status, headers } = this.#answer!;
    const retryAfterMs = headerRetryAfterMs(headers, this.#now());
    const [location] = [headers.location].flat();
    return {
      kind: 'response',
      response: { status, ...this.#body.summary(), durationMs: this.#passed() },
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(location === undefined ? {} : { location: cutText(location, 256) }),
    };
  }

  #passed(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

/** A request that undici does not send, such as one with a header that is none, or a client that is closed. */
function isDefect({ code }: Error & { code?: unknown }): boolean {
  return typeof code === 'string' && /^UND_ERR_(INVALID_ARG|NOT_SUPPORTED|CLOSED|DESTROYED)$/.test(code);
}

/** Statuses at which undici ends the connection without telling them; nobody asked for either. */
function unaskedStatus({ message, code }: Error & { code?: unknown }): number | undefined {
  if (code !== 'UND_ERR_SOCKET') return undefined;
  return message === 'bad response' ? 100 : message === 'bad upgrade' ? 101 : undefined;
}

type BrokenCode = 'connection_reset' | 'response_malformed' | 'tls_failed';

const brokenInWords: Readonly<Record<BrokenCode, string>> = {
  connection_reset: 'the connection ended before an answer came from',
  response_malformed: 'no HTTP, or headers of more than 16 KiB, came from',
  tls_failed: 'TLS failed after the request was sent to',
};

/** What ended a connection on which the request was under way. */
function brokenCode({ name, code }: Error & { code?: unknown }): BrokenCode {
  const text = typeof code === 'string' ? code : '';
  if (name === 'HTTPParserError' || /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_)/.test(text)) {
    return 'response_malformed';
  }
  return /^(ERR_SSL_|ERR_TLS_|EPROTO$)/.test(text) ? 'tls_failed' : 'connection_reset';
}
