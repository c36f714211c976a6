import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';
import { storableText } from './storable-text.js';

/** One run of an event's workflow. */
export interface EventRun {
  readonly tenant: string;
  readonly eventKey: string;
  readonly runId: string;
}

/**
 * Of these runs, the IDs of those whose end the ledger has: the event is done or abandoned, or its dead letter counts the
 * run already. An entry that waits for a person counts no run, so it settles none.
 */
export async function listSettledEvents(
  sql: Sql,
  schema: SchemaName,
  runs: readonly EventRun[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ run_id: string }>(
    `SELECT r.run_id
     FROM unnest($1::text[], $2::text[], $3::text[]) AS r (tenant, event_key, run_id)
     JOIN ${schema}.events e ON e.tenant = r.tenant AND e.event_key = r.event_key
     WHERE e.state IN ('done', 'abandoned')
        OR (e.state = 'dead_lettered' AND EXISTS (
             SELECT 1 FROM ${schema}.dead_letters l
             WHERE l.tenant = r.tenant AND l.event_key = r.event_key AND l.runs @> ARRAY[r.run_id] AND NOT l.parked))`,
    [
      runs.map(({ tenant }) => storableText(tenant)),
      runs.map(({ eventKey }) => storableText(eventKey)),
      runs.map(({ runId }) => runId),
    ],
  );
  return rows.map(({ run_id }) => run_id);
}
