import type { PgTransaction } from '../ledger/pg-database.js';
import type { AttemptPolicy } from '../workflows/contract.js';
import type { ReceivedEvent } from './event.js';

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

/** An effect after validation; made by `source.effect`. */
export interface Effect {
  readonly kind: 'local';
  readonly name: string;
  readonly source: string;
  readonly on: readonly string[];
  readonly policy: AttemptPolicy;
  /** Names under which the ledger may hold this effect's completions from before a renaming. */
  readonly formerly: readonly string[];
  businessKey(event: ReceivedEvent): string;
  commit(context: CommitContext<ReceivedEvent>): Promise<unknown>;
}
