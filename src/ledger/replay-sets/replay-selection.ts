import { type EventSelection, eventConditions } from '../events/event-selection.js';
import type { SchemaName } from '../schema-name.js';

/** Which events a replay of many is about. */
export interface ReplaySelection extends EventSelection {
  /** Done, or recorded without effects; and without an effect that acts on their types. */
  readonly lacking?: {
    /** Each of its names in the ledger. */
    readonly names: readonly string[];
    readonly source: string;
    readonly types: readonly string[];
  };
}

/** The conditions of a selection on the table of events, which the statement calls `e`, and the values of `$1` and on. */
export function replayConditions(
  schema: SchemaName,
  { lacking, ...selection }: ReplaySelection,
): { readonly where: string; readonly values: readonly unknown[] } {
  if (!lacking) return eventConditions(schema, selection);
  const { names, source, types } = lacking;
  return eventConditions(schema, selection, {
    "e.state IN ('done', 'ignored') AND e.source = ?": source,
    'e.type = ANY(?)': [types],
    // What was only observed is lacking still.
    [`NOT EXISTS (SELECT 1 FROM ${schema}.event_effects k WHERE k.tenant = e.tenant AND k.event_key = e.event_key
       AND k.effect = ANY(?) AND k.outcome IS DISTINCT FROM 'observed')`]: [names],
  });
}
