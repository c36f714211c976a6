import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ErrorCode } from '../errors.js';

/** Header names in lower case; a header that came in several lines is a list in their order. */
export type HeaderMap = Readonly<Record<string, string | readonly string[]>>;

/** One HTTP request as a source judges it. */
export interface DeliveryRequest {
  readonly method: string;
  /** The URL as the receiver saw it; some schemes sign it. */
  readonly url: string;
  readonly headers: HeaderMap;
  /** The bytes as received: what a signature covers. Never a body written again from a parsed value. */
  readonly rawBody: Uint8Array;
}

/** Why a request was refused: a stable code, and the finer reason in the words of the scheme. */
export interface Refusal {
  readonly ok: false;
  readonly code: ErrorCode;
  /** The finer reason; free of secrets and payload. */
  readonly reason:
    | 'missing_header'
    | 'malformed_header'
    | 'signature_mismatch'
    | 'unsupported_scheme'
    | 'timestamp_too_old'
    | 'timestamp_too_new'
    | 'missing_identity'
    | 'malformed_body';
  readonly message: string;
}

/** The verdict over the bytes of a request. */
export type Verdict =
  | {
      readonly ok: true;
      /** Which of the configured secrets verified, counted from 0: tells when a rotation is over. */
      readonly secret: number;
    }
  | Refusal;

/** What a source reads out of a verified request. */
export interface Identified {
  readonly ok: true;
  /** The event id that Onefold keys by; where the provider has none, joined from {@link parts} one to one. */
  readonly id: string;
  /** The provider's own event identity, or null where it has none. */
  readonly eventId: string | null;
  /** The values that identify the event together, in order. */
  readonly parts: readonly string[];
  readonly type: string;
  /** A finer kind within the type, such as GitHub's `opened`. */
  readonly action?: string;
  /** ISO 8601 in ms. */
  readonly occurredAt?: string;
  /** Names the transmission or subscription, never the event. */
  readonly deliveryId?: string;
  /** Account, shop or team that the identity is unique in. */
  readonly scope?: string;
  /** The JSON text of the event, exactly as sent. */
  readonly json: string;
  /** {@link json} parsed; numbers may be rounded, so identities are never read from here. */
  readonly body: unknown;
}

/** A schema per event type; any Standard Schema, or `types<T>()` for types only. */
export type EventSchemas = Readonly<Record<string, StandardSchemaV1>>;

/** How a source acknowledges: as soon as Temporal holds the event, or with the outcome. */
export type Acknowledge = 'durable' | 'settled';

/** Options that every source takes. */
export interface SourceOptions<Events extends EventSchemas = EventSchemas> {
  /** The event types the source knows, each with the schema of its data. */
  readonly events: Events;
  /** Default 'durable'. */
  readonly acknowledge?: Acknowledge;
  /**
   * Settled only: how long the request is held for the outcome, at most 10 minutes and no longer than the provider waits.
   * Default '8 seconds', or a second less than the provider waits where that is sooner.
   */
  readonly settleWithin?: string | number;
  /** Largest body taken, in bytes as received and as decompressed. Default 1 MiB. */
  readonly bodyLimitBytes?: number;
  /**
   * Answers carry the effects' results. Default: true for `standardWebhooks` and for `custom` with a signature, false for
   * the outside providers and for `custom` that is unverified.
   */
  readonly exposeResult?: boolean;
  /** A duplicate whose body differs is refused with 422. Default: true where the identity lies outside the signature. */
  readonly refuseOtherBody?: boolean;
  /**
   * Which tenant a delivery belongs to: a name, or a function of the verified request. At most 60 bytes percent-encoded,
   * not blank. Default '', which stands for none.
   */
  readonly tenant?:
    | string
    | ((delivery: { readonly request: DeliveryRequest; readonly identified: Identified }) => string);
  /**
   * 'all' also records events that no effect subscribes to, with their bodies, before they are answered, so that an effect
   * added later can be run over them; it answers 503 while PostgreSQL is away. Default 'subscribed'.
   */
  readonly record?: 'subscribed' | 'all';
  /**
   * `keepBody`: of the sampled requests that are refused at the door the first 32 KiB of the body are kept for a day, sealed
   * with ONEFOLD_SECRETS_KEYS. Default: no body is kept.
   */
  readonly rejected?: { readonly keepBody?: boolean };
  /** Always answer successes with this status, for providers that insist on one. 200 to 299. */
  readonly successStatus?: number;
  /** The signature covers the body as decompressed, not the bytes on the wire. Default false. */
  readonly signed?: 'wire' | 'decoded';
  /** Requests per second taken by one receiver process, and how many may come at once. Default: no limit. */
  readonly rateLimit?: { readonly perSecond: number; readonly burst?: number };
  /** Answer 503 while the oldest waiting event is older than this. Default: no limit. */
  readonly backlogLimit?: { readonly oldest: string | number };
}

/** {@link SourceOptions} after validation, every default filled in. */
export interface SourceSettings {
  readonly acknowledge: Acknowledge;
  readonly settleWithinMs: number;
  readonly bodyLimitBytes: number;
  readonly exposeResult: boolean;
  readonly refuseOtherBody: boolean;
  readonly tenant:
    | string
    | ((delivery: { readonly request: DeliveryRequest; readonly identified: Identified }) => string);
  readonly record: 'subscribed' | 'all';
  readonly keepRejectedBody: boolean;
  readonly successStatus: number | undefined;
  readonly signed: 'wire' | 'decoded';
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | undefined;
  readonly backlogLimitMs: number | undefined;
}

/** What a preset brings: how one provider signs and names its events. All pure, so that vectors run without a server. */
export interface Preset {
  /** 'standard-webhooks', 'github', … */
  readonly provider: string;
  /**
   * Resolves and judges the secrets.
   *
   * @throws {OnefoldError} `config_missing` naming the variable, `secret_invalid` naming the source; never the secret.
   */
  readSecrets(): void;
  /** Where the event identity comes from, for people: 'the header webhook-id'. */
  readonly identityFrom: string;
  /** Judges the bytes. @throws as {@link readSecrets}, on the first use. */
  verify(request: DeliveryRequest, context: { readonly now: Date }): Verdict;
  /** Reads identity and type; call it only after {@link verify}, since it parses the body. */
  identify(request: DeliveryRequest): Identified | Refusal;
  /** The part of the parsed body that the schema of the type describes. */
  dataOf(body: unknown): unknown;
  /** True for media types whose body the preset can read; the value is lower case, without parameters, '' if absent. */
  readsMediaType(mediaType: string): boolean;
  /**
   * The headers that name an event to {@link identify}, without a signature and without any secret: of what the preset reads
   * from headers, that which is given.
   */
  nameHeaders(event: { readonly id?: string; readonly type?: string }): Record<string, string>;
  /** The headers of a delivery signed as the provider would, for `onefold send` and tests. */
  sign(delivery: SignRequest): Record<string, string>;
  /** Default of `exposeResult`: whether callers are proven, and most likely the user's own services. */
  readonly exposesResult: boolean;
  /** The provider's own timeout and retry window, with the date of the fact; shown by docs and checks. */
  readonly facts: ProviderFacts;
}

/** What to sign. */
export interface SignRequest {
  readonly body: Uint8Array;
  readonly id: string;
  readonly type: string;
  readonly now: Date;
}

/** Facts about a provider, as data with a date, since they change without notice. */
export interface ProviderFacts {
  /** As of, YYYY-MM-DD. */
  readonly asOf: string;
  /** How long the provider waits for an answer, in ms; undefined where it says nothing. */
  readonly timeoutMs?: number;
  /** How long the provider retries, in ms; 0 where it never does. */
  readonly redeliveryWindowMs?: number;
  /** How long the provider can be asked to deliver an event again, in ms, where that is longer than it retries by itself. */
  readonly manualRedeliveryWindowMs?: number;
  /** The identity stands in a header that the signature does not cover. */
  readonly identityUnsigned: boolean;
}
