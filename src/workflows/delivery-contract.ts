import type { FailureDetail } from './contract.js';

/**
 * What `deliverPublication` and everything outside it agree on; see `contract.ts`, which does the same for events. Fields
 * are only ever added, since running histories hold these shapes.
 */

/** The workflow type, as the Web UI and `temporal workflow list` show it. */
export const deliverPublicationName = 'deliverPublication';

/**
 * Deliveries have a task queue of their own beside the application's, so that a flood of publications takes no slot from
 * events, and the other way round.
 */
export function deliveryTaskQueue(taskQueue: string): string {
  return `${taskQueue}/deliveries`;
}

/** Signal and update names, as the `temporal` CLI takes them; `retryNow`, `abandon` and `status` are as with events. */
export const deliveryHandlerNames = {
  /** Signal: ends a pause between attempts, or a hold, at once; spends no attempt where the endpoint still holds. */
  retryNow: 'retryNow',
  /** Signal: the endpoint was changed, so look at it. Sent by a relay; losing it costs time only. */
  endpointChanged: 'endpointChanged',
  /** Update: a person gives the delivery up. Argument: `{ by, reason }`; answers {@link AbandonDeliveryAnswer}. */
  abandon: 'abandon',
  /** Query: where the delivery stands, as {@link DeliveryStatus}. */
  status: 'status',
} as const;

/** Which delivery a run is for. */
export interface DeliveryRef {
  /** '' where there is none. */
  readonly tenant: string;
  readonly endpoint: string;
  readonly publication: string;
}

/** Every number that the workflow uses. It comes with the start, and anew with each look at the endpoint. */
export interface DeliveryPolicy {
  /** Pause after the first, second, … failed attempt, ms, before jitter. As many attempts and one more are made. */
  readonly pausesMs: readonly number[];
  /** From the time of publishing; always runs, also while the delivery is held. One attempt is made all the same. */
  readonly maximumElapsedMs: number;
  /** Of one exchange, from connecting to the end of the response, ms. */
  readonly timeoutMs: number;
}

/** A person's wish to send it again, under the same event identity. */
export interface DeliveryReplay {
  /** Identity of the act. */
  readonly id: string;
  readonly by: string;
  readonly reason: string;
  /** ISO 8601; the elapsed budget counts from it. */
  readonly at: string;
}

/** The input of `deliverPublication`. */
export interface DeliverPublicationInput extends DeliveryRef {
  readonly version: 1;
  /** The event identity: the `webhook-id` of every attempt at every endpoint. */
  readonly eventId: string;
  readonly type: string;
  /** ISO 8601. */
  readonly publishedAt: string;
  readonly policy: DeliveryPolicy;
  /** Names of the search attributes that whoever started it found registered. */
  readonly searchAttributes: readonly string[];
  readonly replay?: DeliveryReplay;
  /** Carried from the run before where a long wait continued as new. */
  readonly carried?: CarriedDelivery;
}

/** The memo of every delivery's workflow. */
export interface DeliveryMemo {
  readonly publication: string;
  readonly endpoint: string;
  readonly eventId: string;
  readonly type: string;
  /** ISO 8601. */
  readonly publishedAt: string;
  /** The act that a replayed run carries out. */
  readonly replay?: string;
}

/** What was read of a response, for the history: the decision needs its status alone. */
export interface ResponseSummary {
  readonly status: number;
  /** Bytes read of the body; more may have come. */
  readonly bytes: number;
  /** SHA-256 of the bytes read, in hex. */
  readonly digest: string;
  /** The beginning of the body as text. */
  readonly text: string;
  readonly truncated: boolean;
  /** From connecting to the last byte read, ms. */
  readonly durationMs: number;
}

/** The argument of the `sendPublication` activity: one attempt. */
export interface SendPublicationArgument extends DeliveryRef {
  readonly eventId: string;
  readonly runId: string;
  /** Of this run, from 1. */
  readonly attempt: number;
  /** Its place in the queue of an endpoint with a rate limit, as an earlier try was given it. */
  readonly ticket?: PaceTicket;
  /** The act that lets an ended delivery be sent again. */
  readonly replay?: string;
}

/** A place in the queue of an endpoint with a rate limit. */
export interface PaceTicket {
  /** ISO 8601: from then on the delivery may ask. */
  readonly at: string;
  /** Of the endpoint; a changed endpoint has another queue. */
  readonly version: number;
}

/** What one attempt answers; a failed one throws an `ApplicationFailure` whose first detail is {@link SendFailure}. */
export type SendAnswer =
  | {
      readonly kind: 'delivered';
      readonly response: ResponseSummary;
      readonly policy: DeliveryPolicy;
      readonly unrecorded?: SendEnd;
    }
  /** The ledger had it as delivered before this run: nothing was sent. */
  | { readonly kind: 'already_delivered' }
  /** A person gave it up before; nothing was sent. */
  | { readonly kind: 'already_abandoned'; readonly by: string; readonly reason: string }
  /** The endpoint takes nothing now; nothing was sent, no attempt was spent. */
  | {
      readonly kind: 'held';
      readonly because: 'endpoint_paused' | 'endpoint_disabled';
      readonly policy: DeliveryPolicy;
    }
  /** A limit of the endpoint; nothing was sent, no attempt was spent. */
  | {
      readonly kind: 'limited';
      readonly by: 'rate' | 'concurrency';
      /** Ask again after so many ms. */
      readonly waitMs: number;
      readonly ticket?: PaceTicket;
      readonly policy: DeliveryPolicy;
    }
  /** It can never be sent. */
  | {
      readonly kind: 'impossible';
      readonly code: 'endpoint_removed' | 'publication_missing';
      readonly message: string;
    };

/** How an attempt ended, as the ledger keeps it. */
export interface SendEnd extends DeliveryRef {
  readonly attemptId: string;
  /** Of the endpoint, as the attempt read it. */
  readonly version: number;
  readonly ended: 'delivered' | 'retry' | 'rejected' | 'gone' | 'outcome_unknown';
  readonly code: string | null;
  readonly status: number | null;
  readonly durationMs: number;
  /** Where no status came: whether a byte of the request may have been sent. */
  readonly mayHaveArrived?: boolean;
  readonly response?: { readonly bytes: number; readonly digest: string; readonly text: string };
}

/** What a failed attempt tells the loop. */
export interface SendFailure extends FailureDetail {
  readonly response?: ResponseSummary;
  /** Absent where the attempt never came to read it. */
  readonly policy?: DeliveryPolicy;
  /** PostgreSQL was away when the attempt ended: it is still to be written down. */
  readonly unrecorded?: SendEnd;
}

/** The answer of the `lookAtEndpoint` activity. */
export interface EndpointLook {
  readonly state: 'enabled' | 'paused' | 'disabled' | 'removed';
  /** Absent where the ledger has no such delivery. */
  readonly policy?: DeliveryPolicy;
}

/** One failed attempt, kept for the dead letter. */
export interface SendReason {
  readonly attempt: number;
  /** ISO 8601. */
  readonly at: string;
  readonly code: string;
  readonly message: string;
  readonly status?: number;
}

/** What continue-as-new carries. */
export interface CarriedDelivery {
  readonly policy: DeliveryPolicy;
  readonly attempts: number;
  readonly waits: number;
  readonly unsent?: number;
  readonly retryWished?: boolean;
  readonly reasons: readonly SendReason[];
  readonly failed?: FailedSend;
  readonly nextTryAt?: number;
  readonly waitingFor?: DeliveryWait;
  readonly ticket?: PaceTicket;
}

/** What the pause after a failed attempt is made of, so that another schedule can be applied to it. */
export interface FailedSend {
  /** Unix ms. */
  readonly at: number;
  readonly retryAfterMs: number;
  /** The random part of its jitter, from 0 up to 1. */
  readonly random: number;
}

/** What a delivery waits for. */
export type DeliveryWait = 'pausing' | 'held' | 'limited';

/** How a delivery ended, where its workflow completed. */
export type DeliveryOutcome = 'delivered' | 'already_delivered' | 'abandoned';

/** The result of `deliverPublication`. */
export interface DeliverPublicationResult {
  readonly version: 1;
  readonly publication: string;
  readonly endpoint: string;
  readonly eventId: string;
  readonly outcome: DeliveryOutcome;
  /** Attempts of this run chain. */
  readonly attempts: number;
  readonly status?: number;
  readonly abandoned?: { readonly by: string; readonly reason: string };
}

/** The answer of the `abandon` update of a delivery. */
export interface AbandonDeliveryAnswer {
  readonly abandoned: boolean;
  /** Why nothing was abandoned, where nothing was. */
  readonly because?: string;
}

/** The answer of the `status` query. */
export interface DeliveryStatus {
  readonly phase: 'sending' | 'pausing' | 'held' | 'limited' | 'ending';
  readonly attempts: number;
  readonly maximumAttempts: number;
  /** ISO 8601, while it pauses or waits. */
  readonly nextTryAt?: string;
  /** ISO 8601: the moments at which the remaining attempts are due if each fails at once, before jitter. */
  readonly plan: readonly string[];
  /** ISO 8601: the end of the elapsed budget. */
  readonly givesUpAt: string;
  readonly lastFailure?: { readonly code: string; readonly message: string };
}

/** How a run ended, for the activity that writes it down. */
export interface RecordDeliveryEndArgument extends DeliveryRef {
  /** The workflow ID. */
  readonly deliveryKey: string;
  readonly eventId: string;
  readonly type: string;
  readonly publishedAt: string;
  readonly runId: string;
  readonly end:
    | { readonly outcome: 'dead_lettered'; readonly code: string; readonly message: string }
    | { readonly outcome: 'abandoned'; readonly by: string; readonly reason: string; readonly act: string };
  readonly attempts: number;
  readonly reasons: readonly SendReason[];
}

/** Whether a value is a delivery's input: `temporal workflow start` by hand can give anything. */
export function isDeliverPublicationInput(value: unknown): value is DeliverPublicationInput {
  if (typeof value !== 'object' || value === null) return false;
  const input = value as Partial<Record<keyof DeliverPublicationInput, unknown>>;
  return (
    input.version === 1 &&
    typeof input.tenant === 'string' &&
    [input.endpoint, input.publication, input.eventId, input.type].every(isText) &&
    typeof input.publishedAt === 'string' &&
    !Number.isNaN(Date.parse(input.publishedAt)) &&
    Array.isArray(input.searchAttributes) &&
    isPolicy(input.policy) &&
    (input.replay === undefined || isReplay(input.replay)) &&
    (input.carried === undefined || isCarried(input.carried))
  );
}

function isReplay(value: unknown): value is DeliveryReplay {
  const { id, by, reason, at } = (value ?? {}) as Partial<Record<keyof DeliveryReplay, unknown>>;
  return [id, by, reason, at].every(isText) && !Number.isNaN(Date.parse(at as string));
}

function isCarried(value: unknown): value is CarriedDelivery {
  const { policy, attempts, waits, reasons } = (value ?? {}) as Partial<Record<keyof CarriedDelivery, unknown>>;
  return isPolicy(policy) && typeof attempts === 'number' && typeof waits === 'number' && Array.isArray(reasons);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0');
}

function isPolicy(value: unknown): value is DeliveryPolicy {
  const { pausesMs, maximumElapsedMs, timeoutMs } = (value ?? {}) as Partial<Record<keyof DeliveryPolicy, unknown>>;
  return (
    Array.isArray(pausesMs) &&
    pausesMs.every((pause) => typeof pause === 'number' && pause >= 0) &&
    typeof maximumElapsedMs === 'number' &&
    typeof timeoutMs === 'number' &&
    timeoutMs > 0
  );
}
