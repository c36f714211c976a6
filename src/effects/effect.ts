import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { PgTransaction } from '../ledger/pg-database.js';
import type { Source } from '../sources/define-source.js';
import type { EventSchemas } from '../sources/source.js';
import type { AttemptPolicy } from '../workflows/contract.js';
import type { ReceivedEvent } from './event.js';
import type { Recovery } from './recovery.js';

/** A value that JSON can hold; `bigint` is written as an exact number. `undefined` in objects is absence. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/**
 * Tells Onefold which transaction `commit` gets, where it is not the built-in `pg`:
 * `declare module 'onefold' { interface Register { tx: MyTransaction } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: users merge into it
export interface Register {}

/** The transaction that `commit` gets: `pg`'s, or the registered one. */
export type RegisteredTx = Register extends { readonly tx: infer Tx } ? Tx : PgTransaction;

/** What `commit` is called with. */
export interface CommitContext<Event> {
  readonly event: Event;
  /** The transaction of claim and completion: what is written in it happens once, or not at all. */
  readonly tx: RegisteredTx;
  readonly businessKey: string;
  /** Business attempts of this event so far, from 1. */
  readonly attempt: number;
  /** Aborts at the attempt's timeout, on `abandon`, and when the worker stops. */
  readonly signal: AbortSignal;
}

/** What `perform` is called with. */
export interface PerformContext<Event> {
  readonly event: Event;
  readonly businessKey: string;
  /**
   * The key to hand to the recipient: the same in every attempt at this effect, whatever event, replay or reset asks for
   * it, until a proven failure starts a new generation. At most 45 characters of `a-z 0-9 -`.
   */
  readonly idempotencyKey: string;
  /** Business attempts of this event so far, from 1. */
  readonly attempt: number;
  /**
   * Aborts at the attempt's timeout, on `abandon`, when the lease is lost, and when the worker stops. Hand it to the
   * client: what ignores it may act after another attempt has begun.
   */
  readonly signal: AbortSignal;
}

/** What the `commit` of an external effect is called with. */
export interface ExternalCommitContext<Event, Result> extends CommitContext<Event> {
  /**
   * What `perform` returned, or what the recovery found. Where an earlier commit failed it is read back from its JSON: every
   * digit is kept, and a `bigint` that a number holds exactly is a number then.
   */
  readonly result: Result;
}

/** An effect may declare that an older state, arriving late, does nothing. */
export interface Supersede<Event = ReceivedEvent> {
  /** What the states belong to, such as `subscription:sub_1`: 1 to 512 bytes. Pure. */
  by(event: Event): string;
  /** Grows with every newer state: a number, a `bigint` or a `Date`, such as the provider's event time. Pure. */
  version(event: Event): number | bigint | Date;
}

/** An event that an effect takes, as the provider sends it: before the schema has judged its data. */
export interface TakenEvent<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly data: Data;
}

/** The events of some types of a source, as the provider sends them. */
export type TakenFrom<Events extends EventSchemas, Types extends keyof Events & string> = {
  [Type in Types]: TakenEvent<Type, StandardSchemaV1.InferInput<Events[Type]>>;
}[Types];

/** Under this key an effect carries the source that declared it; the same key in every copy of the package. */
export const declaredBy: unique symbol = Symbol.for('onefold.declared-by');

/** Where an effect comes from: what a test of it alone has to know. */
export interface Declaration<Takes = unknown> {
  readonly source: Source;
  /** For the type checker alone: no effect has it. */
  readonly takes?: Takes;
}

/** Whether an effect does its work, or only shows what it would do. */
export type EffectMode = 'live' | 'observe';

/** What both kinds of effects have. */
interface DeclaredEffect<Takes extends TakenEvent> {
  readonly name: string;
  readonly source: string;
  readonly on: readonly string[];
  readonly policy: AttemptPolicy;
  /** Names under which the ledger may hold this effect's claims and completions from before a renaming. */
  readonly formerly: readonly string[];
  readonly mode: EffectMode;
  readonly supersede?: Supersede;
  businessKey(event: ReceivedEvent): string;
  /** Given by `source.effect` and `source.externalEffect`. The union keeps effects of all kinds assignable to each other. */
  readonly [declaredBy]?: Declaration<Takes> | Declaration;
}

/** A local write: its business rows lie in the ledger's own database; made by `source.effect`. */
export interface LocalEffect<Takes extends TakenEvent = TakenEvent> extends DeclaredEffect<Takes> {
  readonly kind: 'local';
  commit(context: CommitContext<ReceivedEvent>): Promise<unknown>;
}

/** A call to the outside, whose outcome may stay unknown; made by `source.externalEffect`. */
export interface ExternalEffect<Takes extends TakenEvent = TakenEvent> extends DeclaredEffect<Takes> {
  readonly kind: 'external';
  /** How long a claim protects the record, in ms: longer than one attempt, or short and renewed. */
  readonly leaseMs: number;
  /** The user chose the number; otherwise it follows from the attempt's timeout, or from the heartbeat. */
  readonly leaseDeclared: boolean;
  /** How often a running attempt renews its lease, in ms; absent where the lease outlives the attempt. */
  readonly heartbeatMs?: number;
  /** What finishes the work when an attempt ends without telling whether it took hold. */
  readonly recovery: Recovery;
  /** How long it waits for a person before the event goes to the dead letters, in ms. */
  readonly parkedAtMostMs: number;
  perform(context: PerformContext<ReceivedEvent>): Promise<unknown>;
  /** Written together with the completion. */
  readonly commit?: (context: ExternalCommitContext<ReceivedEvent, unknown>) => Promise<unknown>;
  /** The user's own word on errors that the default judgement does not know; undefined leaves it to that. */
  readonly provesNothingDone?: (error: unknown) => boolean | undefined;
}

/** An effect after validation. */
export type Effect = LocalEffect | ExternalEffect;
