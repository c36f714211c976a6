import { conditions } from '../conditions.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Where an event stands, as lists are asked for it: what its row says, and `parked`, which is open and waits for a person.
 * `open` includes the parked ones.
 */
export const eventStates = ['open', 'parked', 'done', 'dead_lettered', 'abandoned', 'ignored'] as const;
export type EventState = (typeof eventStates)[number];

/** Which events of a tenant are asked for; what is left out restricts nothing. */
export interface EventSelection {
  readonly tenant: string;
  readonly source?: string;
  /** The exact type. */
  readonly type?: string;
  readonly state?: EventState;
  /** The exact key of one of its effects. */
  readonly businessKey?: string;
  /** An effect that it has, by each of its names in the ledger. */
  readonly effects?: readonly string[];
  /** An effect that it has not, by each of its names in the ledger. */
  readonly without?: readonly string[];
  /** Of its open dead letter. */
  readonly code?: string;
  /** Received at or after. */
  readonly since?: Date;
  /** Received before. */
  readonly until?: Date;
}

/**
 * The conditions of a selection on the table of events, which the statement calls `e`, and the values of `$1` and on. More
 * conditions can be joined to them.
 */
export function eventConditions(
  schema: SchemaName,
  selection: EventSelection,
  more: Readonly<Record<string, unknown>> = {},
): { readonly where: string; readonly values: readonly unknown[] } {
  const { state, businessKey, effects, without, code } = selection;
  const ofEvent = 'k.tenant = e.tenant AND k.event_key = e.event_key';
  const letter = `SELECT 1 FROM ${schema}.dead_letters l
    WHERE l.tenant = e.tenant AND l.event_key = e.event_key AND l.closed_at IS NULL`;
  return conditions({
    'e.tenant = ?': selection.tenant,
    'e.source = ?': selection.source,
    'e.type = ?': selection.type,
    'e.state = ?': state === 'parked' ? 'open' : state,
    [`EXISTS (${letter} AND l.parked = ?)`]: state === 'parked' ? true : undefined,
    [`EXISTS (${letter} AND l.code = ?)`]: code,
    // Entered by the key: an event with it is rare, whatever else is asked.
    [`e.event_key IN (SELECT k.event_key FROM ${schema}.event_effects k WHERE k.business_key = ? AND k.tenant = e.tenant)`]:
      businessKey,
    [`EXISTS (SELECT 1 FROM ${schema}.event_effects k WHERE ${ofEvent} AND k.effect = ANY(?))`]: effects && [effects],
    [`NOT EXISTS (SELECT 1 FROM ${schema}.event_effects k WHERE ${ofEvent} AND k.effect = ANY(?))`]: without && [
      without,
    ],
    'e.received_at >= ?': selection.since,
    'e.received_at < ?': selection.until,
    ...more,
  });
}
