import { parseEventKey } from '../identity/event-identity.js';

/**
 * What the workflows and everything outside them agree on: names, inputs, results, signals, updates, queries. The only
 * module of this folder that others may import values from. Fields are only ever added, since running histories hold
 * these shapes.
 */

/** The task queue where nothing else is configured. */
export const defaultTaskQueue = 'onefold';

/** Workflow type names, as the Web UI and `temporal workflow list` show them. */
export const workflowNames = {
  processEvent: 'processEvent',
  sweepClosedEvents: 'sweepClosedEvents',
} as const;

/** Signal, update and query names, as the `temporal` CLI takes them. */
export const handlerNames = {
  /** Signal: ends a pause between attempts at once. Argument, optional: {@link RetryNowRequest}. */
  retryNow: 'retryNow',
  /** Update: a person gives the event up. Argument: {@link AbandonRequest}; answers {@link AbandonAnswer}. */
  abandon: 'abandon',
  /** Query: where each effect stands, as {@link EventStatus}. */
  status: 'status',
} as const;

/** Search attributes, all optional on the server: they are set only where they are registered. */
export const searchAttributeNames = {
  source: 'OnefoldSource',
  type: 'OnefoldType',
  state: 'OnefoldState',
  businessKey: 'OnefoldBusinessKey',
  endpoint: 'OnefoldEndpoint',
} as const;

/** Types of the search attributes, in the words of `temporal operator search-attribute create --type`. */
export const searchAttributeTypes = {
  OnefoldSource: 'Keyword',
  OnefoldType: 'Keyword',
  OnefoldState: 'Keyword',
  OnefoldBusinessKey: 'KeywordList',
  OnefoldEndpoint: 'Keyword',
} as const;

/** The memo of every event's workflow, read by the describe call that decides a duplicate's path. */
export interface EventMemo {
  /** SHA-256 of the body as received, in hex. */
  readonly digest: string;
  /** As the input has it. */
  readonly id: string;
  readonly type: string;
  /** When the first delivery was received, ISO 8601. */
  readonly receivedAt: string;
}

/** Stands for the digest of an input that is no event, in the dead letter of the run that was started with it. */
export const unknownDigest = 'unknown';

/** Stands for the digest of a body that nobody has: of an event that an earlier system has done, until it is redelivered. */
export const adoptedDigest = 'adopted';

/** The JSON text of an event, or the word that it lies in the ledger's payloads under (event key, digest). */
export type EventPayload = { readonly text: string } | { readonly stored: true };

/** A person's wish to run an event again; each is an act of its own. */
export interface ReplayRequest {
  /** Identity of the act: repeating the command is harmless, a second wish has another id. */
  readonly id: string;
  readonly by: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly at: string;
  /** Effects that have not ended take other business keys, as the person saw them. */
  readonly rekey?: readonly Rekeying[];
}

/** A business key that is to replace a recorded one. */
export interface Rekeying {
  /** The name that the plan recorded. */
  readonly effect: string;
  /** The recorded key; where it is another one by now, it stands. */
  readonly from: string;
  /** What the code computed; a worker that computes another one refuses. */
  readonly to: string;
}

/** The argument of `processEvent`. */
export interface ProcessEventInput {
  readonly version: 1;
  /** '' where there is none. */
  readonly tenant: string;
  readonly source: string;
  /** The provider's event id; the hashed segment of the event key where nothing but a hashed key was known. */
  readonly id: string;
  /** The type as the configuration names it. */
  readonly type: string;
  /** SHA-256 of the body as received, in hex. */
  readonly digest: string;
  /** ISO 8601. */
  readonly receivedAt: string;
  /** The provider's event time, ISO 8601, where it gives one. */
  readonly occurredAt?: string;
  readonly payload: EventPayload;
  /** Names of the effects that the receiver matched; a worker that lacks one waits for a worker that has it. */
  readonly effects: readonly string[];
  readonly replay?: ReplayRequest;
  /** Carried from the run before where a long wait continued as new. */
  readonly carried?: CarriedState;
}

/** A result as JSON text, or the word that it stays in the ledger because of its size in bytes. */
export type StoredResult = { readonly json: string } | { readonly stored: true; readonly bytes: number };

/** How an effect ended for an event. See the design's outcomes. `observed`: its mode is to look only, and nothing ran. */
export type EffectOutcome = 'done' | 'already_done' | 'stale' | 'observed' | 'failed' | 'abandoned';

/** The end of one effect of one event. */
export interface EffectEnd {
  readonly effect: string;
  readonly businessKey?: string;
  readonly outcome: EffectOutcome;
  /** Business attempts made in this run chain. */
  readonly attempts: number;
  /** The ledger's fence of the completion; a result without one is not ours. */
  readonly fence?: number;
  readonly result?: StoredResult;
  /** `source/event-id` of the event that did the work, where it was another one. */
  readonly doneBy?: string;
  /** Another event with different data was collapsed onto this business key. */
  readonly otherData?: boolean;
  /** `source/event-id` of another event with the same version of what a superseding effect is about: neither is older. */
  readonly equalTo?: string;
  readonly code?: string;
  readonly message?: string;
}

/** How the whole event ended, where its workflow completed. */
export type EventOutcome = 'done' | 'already_done' | 'stale' | 'observed' | 'abandoned';

/** The result of `processEvent`. */
export interface ProcessEventResult {
  readonly version: 1;
  readonly event: string;
  readonly outcome: EventOutcome;
  readonly effects: readonly EffectEnd[];
  /** With outcome `abandoned`: who and why. */
  readonly abandoned?: { readonly by: string; readonly reason: string };
}

/** The argument of the `retryNow` signal; without one every effect of the event is meant. */
export interface RetryNowRequest {
  readonly effect?: string;
  /** Only where that is what the effect waits for, so that resuming ends no backoff: the code of its latest failure. */
  readonly waitingFor?: string;
}

/** The argument of the `abandon` update. */
export interface AbandonRequest {
  readonly by: string;
  readonly reason: string;
}

/** The answer of the `abandon` update: what the ledger says of each effect after the last attempt ended. */
export interface AbandonAnswer {
  readonly abandoned: boolean;
  /** Why nothing was abandoned, where nothing was. */
  readonly because?: string;
  readonly effects: readonly EffectEnd[];
}

/** Where an effect stands while its event runs. */
export type EffectPhase = 'planned' | 'attempting' | 'pausing' | 'waiting' | 'parked' | 'ended';

/** The answer of the `status` query. */
export interface EventStatus {
  readonly phase: 'planning' | 'running' | 'ending';
  readonly effects: readonly {
    readonly effect: string;
    readonly businessKey: string;
    readonly phase: EffectPhase;
    readonly attempts: number;
    readonly maximumAttempts: number;
    /** ISO 8601, while it pauses or waits. */
    readonly nextTryAt?: string;
    readonly lastFailure?: { readonly code: string; readonly message: string };
    readonly outcome?: EffectOutcome;
  }[];
}

/** Every number the workflow uses for one effect's attempts; decided by the plan, so that editing the configuration cannot break a running event. */
export interface AttemptPolicy {
  readonly initialIntervalMs: number;
  readonly backoffCoefficient: number;
  readonly maximumIntervalMs: number;
  readonly maximumAttempts: number;
  /** From the first attempt; the next pause must end within it. */
  readonly maximumElapsedMs: number;
  readonly nonRetryableErrorTypes: readonly string[];
  /** Start-to-close of one attempt. */
  readonly timeoutMs: number;
}

/** What the workflow has to know of an effect that reaches outside. */
export interface ExternalPlan {
  readonly recovery: 'forwardsKey' | 'reconcile' | 'park';
  /** Silence of a running attempt after which its worker counts as dead, ms; absent: the usual. */
  readonly heartbeatTimeoutMs?: number;
  /** How long it waits for a person before the event goes to the dead letters, ms. */
  readonly parkedAtMostMs: number;
}

/** One effect of an event as the plan decided it. */
export interface PlannedEffect {
  readonly effect: string;
  readonly businessKey: string;
  /** The business key as search attributes hold it: shortened and hashed where it is long. */
  readonly indexedKey: string;
  readonly policy: AttemptPolicy;
  /** The first attempt may run as a local activity, which costs the engine least. */
  readonly localFirst: boolean;
  /** Present where the effect reaches outside. */
  readonly external?: ExternalPlan;
  /** Already ended for this event, by the ledger; it is not run again. */
  readonly ended?: EffectEnd;
}

/** One failed attempt, kept for the dead letter. */
export interface AttemptReason {
  readonly attempt: number;
  /** ISO 8601. */
  readonly at: string;
  readonly code: string;
  readonly message: string;
}

/** The failure for which an effect is given up. */
export interface GivenUpEffect {
  readonly code: string;
  readonly message: string;
  /** It says nothing about a doubt that another event's attempt has left, which is that event's to settle. */
  readonly ownDoubtOnly?: true;
}

/** One effect's progress, which survives continue-as-new. */
export interface EffectProgress {
  readonly planned: PlannedEffect;
  attempts: number;
  /** Waits that spent no attempt: for another event, `NotYetError`, a shutdown. */
  waits: number;
  /** Unix ms of the first attempt; the elapsed budget counts from it. */
  startedAt?: number;
  /** Unix ms at which the next attempt is due, or the next look at a parked effect. */
  nextTryAt?: number;
  /** Waits for a person since then, Unix ms, and was looked at so often. */
  parked?: { readonly since: number; readonly looks: number };
  /** How it ends, unless the ledger says that its outcome is unknown, or that it is done. */
  givenUp?: GivenUpEffect;
  /** The ledger had it as done when it was given up: one more attempt ends it. */
  foundDone?: true;
  /** Attempts before a person decided, which the budget does not count. */
  forgiven?: number;
  reasons: AttemptReason[];
  ended?: EffectEnd;
}

/** What continue-as-new carries to the next run. */
export interface CarriedState {
  /** Without its effects, which stand in the progress. */
  readonly plan?: PlannedEvent;
  readonly progress: readonly EffectProgress[];
  /** Failed planning attempts so far, and waits for a worker that knows the effects. */
  readonly planning: { readonly attempts: number; readonly waits: number; readonly reasons: readonly AttemptReason[] };
}

/** What planning answers: the plan, or why it must wait. */
export type PlanAnswer =
  | { readonly kind: 'planned'; readonly plan: PlannedEvent }
  /** This worker lacks the named effects; one that has them will plan. */
  | { readonly kind: 'effects_unknown'; readonly names: readonly string[] }
  /** An earlier local try of this step did not live to report: run it as a regular activity. */
  | { readonly kind: 'use_regular' };

/** What one attempt answers; a failed one throws an `ApplicationFailure` whose first detail is {@link FailureDetail}. */
export type AttemptAnswer =
  | { readonly kind: 'ended'; readonly end: EffectEnd }
  /** The outcome of an earlier attempt is unknown, and only a person can tell. */
  | { readonly kind: 'parked'; readonly fence: number; readonly message: string }
  | { readonly kind: 'use_regular' };

/** What a failed attempt tells the loop. */
export interface FailureDetail {
  readonly code: string;
  readonly message: string;
  /** No further attempt will help. */
  readonly permanent: boolean;
  /** Spends one of the attempts of the budget; a wait does not. */
  readonly counted: boolean;
  /** The earliest next try, in ms. */
  readonly retryAfterMs?: number;
  /** The latest next try of a wait, in ms: what it waits for has ended by then. */
  readonly waitAtMostMs?: number;
  /** The attempt may have taken hold. */
  readonly outcomeUnknown?: true;
}

/** The plan of an event. */
export interface PlannedEvent {
  readonly effects: readonly PlannedEffect[];
  /** Names of the search attributes that the worker found registered. */
  readonly searchAttributes: readonly string[];
  /** Digest of the body that the ledger recorded, where this run was started with another one; attempts read that. */
  readonly recordedDigest?: string;
  /** Type of that body, where this run was started with another one. */
  readonly recordedType?: string;
  /** A person abandoned this event before; it completes at once with that outcome. */
  readonly abandoned?: { readonly by: string; readonly reason: string };
}

/** The result of `sweepClosedEvents`. */
export interface SweepResult {
  /** Closed runs found. */
  readonly looked: number;
  /** Dead letters written for them. */
  readonly deadLettered: number;
  /** Runs that could not be read or written; the next sweep looks at them again. */
  readonly failed: number;
}

/** Whether a value is an event's input: `temporal workflow start` by hand can give anything. */
export function isProcessEventInput(value: unknown): value is ProcessEventInput {
  if (typeof value !== 'object' || value === null) return false;
  const input = value as Partial<Record<keyof ProcessEventInput, unknown>>;
  const payload = input.payload as { text?: unknown; stored?: unknown } | null | undefined;
  return (
    input.version === 1 &&
    (input.tenant === '' || isText(input.tenant)) &&
    [input.source, input.id, input.type, input.digest].every(isText) &&
    isTime(input.receivedAt) &&
    (input.occurredAt === undefined || isTime(input.occurredAt)) &&
    Array.isArray(input.effects) &&
    input.effects.every(isText) &&
    typeof payload === 'object' &&
    payload !== null &&
    (typeof payload.text === 'string' || payload.stored === true) &&
    (input.carried === undefined || isCarriedState(input.carried))
  );
}

/** Whether an input is that of the event whose identity the workflow ID is. */
export function inputBelongsTo(workflowId: string, input: ProcessEventInput): boolean {
  const parsed = parseEventKey(workflowId);
  return (
    parsed !== undefined &&
    parsed.source === input.source &&
    parsed.tenant === input.tenant &&
    (parsed.id === undefined || parsed.id === input.id)
  );
}

/** Text as the ledger can hold it: neither empty nor with a NUL. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0');
}

/** ISO 8601 in UTC: what JavaScript and PostgreSQL both read, and read the same. */
function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value) && isDate(value);
}

function isDate(value: string): boolean {
  const time = Date.parse(value);
  // JavaScript takes the 31st of February for the 3rd of March, and PostgreSQL refuses it.
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 19) === value.slice(0, 19);
}

function isCarriedState(value: unknown): value is CarriedState {
  const { plan, progress, planning } = (value ?? {}) as Partial<Record<keyof CarriedState, unknown>>;
  const { attempts, waits, reasons } = (planning ?? {}) as Partial<Record<keyof CarriedState['planning'], unknown>>;
  return (
    (plan === undefined || (typeof plan === 'object' && plan !== null)) &&
    Array.isArray(progress) &&
    typeof attempts === 'number' &&
    typeof waits === 'number' &&
    Array.isArray(reasons)
  );
}
