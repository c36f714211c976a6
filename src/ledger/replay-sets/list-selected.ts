import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type ReplaySelection, replayConditions } from './replay-selection.js';

/** An event in a selection. */
export interface SelectedEvent {
  readonly eventKey: string;
  /** `source/event-id` */
  readonly event: string;
}

/** Lists the first events of a selection in the order in which they are replayed, those received first. */
export async function listSelected(
  sql: Sql,
  schema: SchemaName,
  selection: ReplaySelection,
  limit: number,
): Promise<readonly SelectedEvent[]> {
  const { where, values } = replayConditions(schema, selection);
  const { rows } = await sql<SelectedEvent>(
    `SELECT e.event_key AS "eventKey", e.source || '/' || e.event_id AS event
     FROM ${schema}.events e
     WHERE ${where}
     ORDER BY e.received_at, e.event_key
     LIMIT $${values.length + 1}`,
    [...values, limit],
  );
  return rows;
}
