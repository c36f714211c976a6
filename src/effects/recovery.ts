import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import type { ReceivedEvent } from './event.js';

/**
 * What a recipient answers when asked whether an effect took hold: done, with the result that `perform` would have
 * returned; absent, for certain; or unknown still.
 */
export type Reconciled<Result> = { readonly done: Result } | 'absent' | 'unknown';

/**
 * What `reconcile` is called with. TypeScript knows the event's type there only when told:
 * `async ({ event }: ReconcileContext<EventFrom<typeof shop, 'order.paid'>>) => …`.
 */
export interface ReconcileContext<Event> {
  /** The event whose attempt left the outcome unknown, which need not be the one that now asks. */
  readonly event: Event;
  readonly businessKey: string;
  /** The key that the earlier attempt handed over. */
  readonly idempotencyKey: string;
  /** Aborts as that of `perform` does. */
  readonly signal: AbortSignal;
}

// `any` where a function never answers with a result, so that it says nothing about the type of `perform`'s.

/** Asks the recipient. A throw is the answer 'unknown', and the attempt fails with it. */
export type Ask<Result, Event = ReceivedEvent> = (context: ReconcileContext<Event>) => Promise<Reconciled<Result>>;

/** The recipient dedupes on the key that is handed to it, for as long as it remembers. */
export interface ForwardsKey {
  readonly kind: 'forwardsKey';
  /** How long the recipient is sure to remember a key, in ms, from its first use. */
  readonly validForMs: number;
}

/** The same, and it can be asked once the key may be forgotten. */
export interface ForwardsKeyThenReconcile<Result = unknown> extends ForwardsKey {
  readonly ask: Ask<Result>;
  readonly settleAfterMs: number;
}

/** The recipient can be asked what became of an attempt. */
export interface Reconcile<Result = unknown> {
  readonly kind: 'reconcile';
  readonly ask: Ask<Result>;
  /** How long after the end of an attempt's lease its request may still take hold, in ms: 'absent' counts only later. */
  readonly settleAfterMs: number;
}

/** A person decides. */
export interface Park {
  readonly kind: 'park';
}

/** What finishes the work after an attempt of an external effect ended without telling whether it took hold. */
export type Recovery<Result = unknown> = ForwardsKey | ForwardsKeyThenReconcile<Result> | Reconcile<Result> | Park;

/** Options of {@link forwardsKey}. */
export interface ForwardsKeyOptions {
  /**
   * How long the recipient is sure to remember the key, from its first use on, by its own documentation: Stripe says 24
   * hours, so '24 hours'. Later the same key would act a second time, so it is not sent any more.
   */
  readonly validFor: string | number;
}

/** Options of {@link forwardsKey} with a recipient that can also be asked. */
export interface ForwardsKeyThenReconcileOptions<Result, Event = ReceivedEvent> extends ForwardsKeyOptions {
  /** Asked once `validFor` is over. Without it the effect is parked then: a person decides. */
  readonly reconcile: Ask<Result, Event>;
  /** As for {@link reconcile}. Default '1 minute'. */
  readonly settleAfter?: string | number;
}

/** Options of {@link reconcile}. */
export interface ReconcileOptions {
  /**
   * How long a request that left us may still be under way, or lie in a queue of the recipient, after its attempt's lease
   * has ended: an 'absent' counts only after that. Default '1 minute'.
   */
  readonly settleAfter?: string | number;
}

/** Proxies and load balancers give up on a request within a minute, with few exceptions. */
const defaultSettleAfter = '1 minute';

/** A longer one is a mistake in the unit. */
const longestSettle = '7 days';

/**
 * The recipient dedupes on `idempotencyKey`: after an unknown outcome the same request is sent again under the same key,
 * and takes hold once. Only as long as the recipient remembers the key; later `reconcile` where given, else a person
 * decides.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault.
 */
// This one first: the parameters of a function given here are typed by the first overload that takes one.
export function forwardsKey<Result = any, Event extends ReceivedEvent = ReceivedEvent>(
  options: ForwardsKeyThenReconcileOptions<Result, Event>,
): ForwardsKeyThenReconcile<Result>;
export function forwardsKey(options: ForwardsKeyOptions): ForwardsKey;
export function forwardsKey(
  options: ForwardsKeyOptions & Partial<ForwardsKeyThenReconcileOptions<unknown>>,
): ForwardsKey | ForwardsKeyThenReconcile {
  if (typeof options !== 'object' || options === null) {
    throw new OnefoldError('config_invalid', "forwardsKey: say how long the recipient remembers, { validFor: '24h' }");
  }
  refuseUnknownOptions(options, ['validFor', 'reconcile', 'settleAfter'], 'forwardsKey');
  const key = { kind: 'forwardsKey', validForMs: durationMs(options.validFor, 'forwardsKey.validFor') } as const;
  if (options.reconcile === undefined) return Object.freeze(key);
  if (typeof (options.reconcile as unknown) === 'object') {
    throw new OnefoldError(
      'config_invalid',
      'forwardsKey.reconcile: give the function itself that asks the recipient, not reconcile(…)',
    );
  }
  checkAsk(options.reconcile, 'forwardsKey.reconcile');
  const settleAfterMs = settleAfter(options.settleAfter, 'forwardsKey');
  return Object.freeze({ ...key, ask: options.reconcile, settleAfterMs });
}

/**
 * The recipient can be asked: after an unknown outcome, `ask` says `{ done: result }`, 'absent' or 'unknown'. Absent is
 * believed once the earlier attempt can no longer be under way, and the effect is then performed. Unknown waits and asks
 * again within the budget, then parks.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault.
 */
export function reconcile<Result = any, Event extends ReceivedEvent = ReceivedEvent>(
  ask: Ask<Result, Event>,
  options: ReconcileOptions = {},
): Reconcile<Result> {
  checkAsk(ask, 'reconcile');
  refuseUnknownOptions(options, ['settleAfter'], 'reconcile');
  // The event handed in later was matched by type, so an annotated narrower type holds.
  return Object.freeze({
    kind: 'reconcile',
    ask: ask as Ask<Result>,
    settleAfterMs: settleAfter(options.settleAfter, 'reconcile'),
  });
}

/**
 * Nothing but a person can tell: after an unknown outcome the event waits, visible as parked, until
 * `onefold resolve <effect> <business key>` says what happened.
 */
export function park(): Park {
  return Object.freeze({ kind: 'park' });
}

function settleAfter(given: string | number | undefined, place: string): number {
  return durationMs(given ?? defaultSettleAfter, `${place}.settleAfter`, longestSettle);
}

function checkAsk(ask: unknown, place: string): void {
  if (typeof ask !== 'function') {
    throw new OnefoldError(
      'config_invalid',
      `${place}: expected a function that asks the recipient, got ${typeof ask}`,
    );
  }
}
