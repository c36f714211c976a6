import { conditions } from '../conditions.js';
import type { SchemaName } from '../schema-name.js';

/** Which open events are meant: those of a source, or those that have an effect which has not ended. */
export interface OpenEventsOf {
  /** Undefined for every tenant. */
  readonly tenant?: string;
  readonly source?: string;
  /** The names under which the ledger has the effect. */
  readonly effect?: readonly string[];
}

/** The conditions on the table of events, which the statement calls `e`, and the values of `$1` and on. */
export function openEventsConditions(
  schema: SchemaName,
  { tenant, source, effect }: OpenEventsOf,
  more: Readonly<Record<string, unknown>> = {},
): { readonly where: string; readonly values: readonly unknown[] } {
  return conditions({
    'e.state = ?': 'open',
    'e.tenant = ?': tenant,
    'e.source = ?': source,
    [`EXISTS (SELECT 1 FROM ${schema}.event_effects k
              WHERE k.tenant = e.tenant AND k.event_key = e.event_key AND k.effect = ANY(?) AND k.outcome IS NULL)`]:
      effect && [effect],
    ...more,
  });
}
