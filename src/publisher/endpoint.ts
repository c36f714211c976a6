/** What an endpoint takes now; see the table of states in docs/publishing.md. */
export type EndpointState = 'enabled' | 'paused' | 'disabled' | 'removed';

/** Why an endpoint is not enabled. */
export type EndpointStateCode = 'by_owner' | 'endpoint_gone' | 'endpoint_failing';

/** An endpoint as its owner sees it: everything but its secrets and the values of its headers. */
export interface Endpoint {
  readonly tenant: string;
  /** `ep_` and 24 characters; unique over all tenants. */
  readonly id: string;
  readonly url: string;
  readonly description: string;
  /** Subscribed types: exact, `order.*`, or `*`, which leaves out `endpoint.*`. */
  readonly types: readonly string[];
  /** Names of the extra headers, in lower case; their values are kept sealed. */
  readonly headerNames: readonly string[];
  /** Requests per second; undefined for no limit. */
  readonly rateLimit?: number;
  /** Requests at once. */
  readonly concurrency: number;
  /** Of one exchange, ms; undefined for the application's default, as with the next two. */
  readonly timeoutMs?: number;
  /** Pauses between attempts, ms, before jitter. */
  readonly pausesMs?: readonly number[];
  /** From the time of publishing to the last attempt, ms. */
  readonly elapsedMs?: number;
  /** An attempt that may have arrived is not repeated. */
  readonly atMostOnce: boolean;
  readonly state: EndpointState;
  readonly stateCode?: EndpointStateCode;
  readonly stateReason?: string;
  readonly stateAt: Date;
  /** Grows with every change by its owner. */
  readonly version: number;
  /** First failed attempt since the last success. */
  readonly failingSince?: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Requests at once where nobody says: enough for a healthy receiver, and few enough that a hanging one holds few slots. */
export const defaultEndpointConcurrency = 10;

/** Of one exchange where nobody says, ms; connecting has its own time within it. */
export const defaultSendTimeoutMs = 15_000;
export const connectTimeoutMs = 3_000;

/** From sending to the end of the response's headers, ms: 10 s, or two thirds of a timeout of more than 15 s. */
export function headersTimeoutOf(timeoutMs: number): number {
  return Math.min(timeoutMs, Math.max(10_000, (timeoutMs * 2) / 3));
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Between attempts where nobody says, before jitter; some three days in all, as Standard Webhooks recommends. */
export const defaultPausesMs: readonly number[] = [
  5_000,
  30_000,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
];

/** From publishing to the last attempt where nobody says, ms: the pauses with all their jitter, and room for holds. */
export const defaultElapsedMs = 5 * 24 * hourMs;
