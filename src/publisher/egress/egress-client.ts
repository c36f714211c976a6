import { readFileSync } from 'node:fs';
import { Agent } from 'undici';
import { OnefoldError } from '../../errors.js';
import type { EgressRules } from '../../runtime/egress-rules.js';
import { connectTimeoutMs, headersTimeoutOf } from '../endpoint.js';
import { type Exchange, exchange } from './exchange.js';
import { judgeUrl } from './judge-url.js';
import { judgedConnector } from './judged-connector.js';
import { hostResolver, type Resolve } from './resolve-host.js';

export type { Exchange } from './exchange.js';

/** One request to the outside. */
export interface EgressRequest {
  readonly url: string;
  /** Names in lower case. Added where absent: `user-agent`; always: `accept-encoding: identity`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Of the whole exchange, from connecting to the end of the response, ms. */
  readonly timeoutMs: number;
  /** Ends the exchange at once, and its connection. */
  readonly signal?: AbortSignal;
  /** Called once, right before the first byte may be written. Where it was not called, nothing was sent. */
  readonly onSending?: () => void;
}

/** The one way by which Onefold calls other people's servers. */
export interface EgressClient {
  /**
   * Sends one POST, once: no redirect is followed, nothing is repeated.
   *
   * @returns What came of it; whatever the network does is an answer, as is a URL that may not be sent to.
   * @throws the signal's reason where it aborted before that.
   */
  send(request: EgressRequest): Promise<Exchange>;
  /** Closes idle connections at once, others when their exchange is over. May be called again. */
  close(): Promise<void>;
}

/** Options of {@link createEgressClient}. */
export interface EgressClientOptions {
  /** Finds the addresses of a host. Default: name servers, or the operating system for hosts that the rules list. */
  readonly resolve?: Resolve;
  /** PEM of the authorities that are trusted, in place of Node's. */
  readonly ca?: string;
  /** From which a date in Retry-After is measured, ms since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/** Of a response, in all; as much as Node's own client takes. */
const headersLimitBytes = 16 * 1024;

/**
 * A connection is kept for so long after its last exchange, ms; a receiver may ask for less or more, up to the second.
 * Many receivers close after 5 s.
 */
const idleMs = 4_000;
const longestIdleMs = 30_000;

/**
 * A connection takes no new exchange when it is as old as this, ms. The connection of a busy endpoint is never idle, so that
 * its name would not be resolved and judged again for as long as the receiver keeps it: neither a move of the endpoint nor
 * a name that now leads inside would be noticed. An exchange under way is not cut off; the connection closes after it.
 */
const longestUseMs = 30_000;

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Makes the client for every outbound call. The URL and all addresses behind it are judged at each connection, and those
 * judged are the ones connected to; connections are used again for up to 30 s. Resolving, connecting and TLS have 3 s, the
 * response's headers 10 s or two thirds of the request's `timeoutMs`, if that is more, and all of it `timeoutMs`.
 */
export function createEgressClient(rules: EgressRules, options: EgressClientOptions = {}): EgressClient {
  const { resolve = hostResolver(rules), ca, now = Date.now } = options;
  const agent = new Agent({
    connect: judgedConnector({ rules, resolve, connectTimeoutMs, ...(ca === undefined ? {} : { ca }) }),
    maxHeaderSize: headersLimitBytes,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: longestIdleMs,
    clientTtl: longestUseMs,
    pipelining: 1,
    allowH2: false,
    // An exchange has its own timers.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  let closed: Promise<void> | undefined;
  return {
    async send({ url, headers, body, timeoutMs, ...hooks }) {
      const judged = judge(url, rules);
      if (typeof judged === 'string') {
        return {
          kind: 'no_response',
          code: 'destination_refused',
          message: judged,
          mayHaveArrived: false,
          durationMs: 0,
        };
      }
      const all = { 'user-agent': `Onefold/${version} (webhooks)`, ...headers, 'accept-encoding': 'identity' };
      const headersTimeoutMs = headersTimeoutOf(timeoutMs);
      return exchange(agent, { url: judged, headers: all, body, timeoutMs, headersTimeoutMs, ...hooks }, now);
    },
    close: () => {
      closed ??= agent.close();
      return closed;
    },
  };
}

function judge(url: string, rules: EgressRules): URL | string {
  try {
    return judgeUrl(url, rules);
  } catch (error) {
    if (error instanceof OnefoldError) return error.message;
    throw error;
  }
}
