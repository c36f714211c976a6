import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** An event that was accepted, and that no worker has planned yet. */
export interface UnplannedEvent {
  readonly tenant: string;
  readonly eventKey: string;
  readonly source: string;
  /** Of the first delivery that was answered so. */
  readonly receivedAt: Date;
}

/**
 * Lists events that deliveries have started and of which the ledger has no record, those received last first: they wait for
 * a worker. Evidence is written within a second of its answer, and lost while PostgreSQL is away.
 *
 * @param selection `since` bounds what is looked at.
 */
export async function listUnplanned(
  sql: Sql,
  schema: SchemaName,
  selection: { readonly tenant: string; readonly source?: string; readonly since: Date; readonly until?: Date },
  limit: number,
): Promise<readonly UnplannedEvent[]> {
  const { where, values } = conditions({
    'd.tenant = ?': selection.tenant,
    'd.source = ?': selection.source,
    'd.received_at >= ?': selection.since,
    'd.received_at < ?': selection.until,
  });
  const { rows } = await sql<UnplannedEvent>(
    `SELECT d.tenant, d.event_key AS "eventKey", d.source, min(d.received_at) AS "receivedAt"
     FROM ${schema}.deliveries d
     WHERE ${where} AND d.path IN ('first_run', 'retry_after_failure')
       AND NOT EXISTS (SELECT 1 FROM ${schema}.events e WHERE e.tenant = d.tenant AND e.event_key = d.event_key)
     GROUP BY d.tenant, d.event_key, d.source
     ORDER BY min(d.received_at) DESC, d.event_key LIMIT $${values.length + 1}`,
    [...values, limit],
  );
  return rows;
}
