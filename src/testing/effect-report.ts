import { ledgerName, ledgerNames } from '../effects/catalogue.js';
import type { Effect } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import { readClaim } from '../ledger/read-claim.js';
import { readResult } from '../ledger/read-result.js';
import type { StoredResult } from '../workflows/contract.js';

/** How an effect came out for an event. */
export interface EffectReport {
  /**
   * - `done`: it happened, by this event.
   * - `already_done`: it had happened before: see `doneBy`.
   * - `stale`: a newer state of what it is about had been begun.
   * - `observed`: its mode is `observe`, so nothing was claimed or run.
   * - `parked`: its outcome is unknown, and a person has to say what happened: `resolve`.
   * - `waiting`: it cannot go on now, and nothing was spent. `code` says for what: `claim_waiting` for another attempt's lease,
   *   `outcome_settling` for what an earlier attempt may have under way, `not_yet` for what the effect itself asked for.
   * - `failed`: in production the event would now be a dead letter.
   */
  readonly outcome: 'done' | 'already_done' | 'stale' | 'observed' | 'parked' | 'waiting' | 'failed';
  /** Absent where the plan failed. */
  readonly businessKey?: string;
  /** What the effect returned, read back from its stored JSON. */
  readonly result?: unknown;
  /** Business attempts of the event so far, those that crashed included. */
  readonly attempts: number;
  /** Calls of `perform`, or of a local write's `commit`, in this run. */
  readonly calls: number;
  /** The keys handed to `perform` in this run, call by call. */
  readonly idempotencyKeys: readonly string[];
  /** How it recovered from an earlier attempt of unknown outcome, attempt by attempt. */
  readonly recoveries: readonly ('forwardsKey' | 'reconcile' | 'commit')[];
  /** `source/event-id` of the event that did it, or that has the newer state, where it was another. */
  readonly doneBy?: string;
  /** The event that did it had other data: the business key may be too coarse. */
  readonly otherData?: boolean;
  /** `source/event-id` of another event with the same version. */
  readonly equalTo?: string;
  /** Of the last attempt, where it did not end well. */
  readonly code?: string;
  readonly message?: string;
  /** What the effect's own code threw last. */
  readonly error?: unknown;
}

/** A stored result as a value; a large one is read from the ledger, which alone has it. */
export async function readStoredResult(
  ledger: Ledger,
  effect: Effect,
  of: { readonly tenant: string; readonly businessKey: string },
  stored: StoredResult | undefined,
): Promise<{ readonly result?: unknown }> {
  if (!stored) return {};
  if ('json' in stored) return { result: JSON.parse(stored.json) };
  const { query } = ledger.database;
  const claim = await readClaim(query, ledger.schema, { ...of, names: ledgerNames(effect) });
  const json = await readResult(query, ledger.schema, { ...of, effect: claim?.effect ?? ledgerName(effect) });
  return json === undefined ? {} : { result: JSON.parse(json) };
}
