import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** An event of a set. */
export interface ReplayItem {
  /** From 1. */
  readonly position: number;
  readonly eventKey: string;
  /** `source/event-id` */
  readonly event: string;
}

/**
 * Takes the next events of a set that have no outcome, for as long as the transaction lasts. What another process has taken
 * is passed over; what a process had taken that died is free again with its connection.
 */
export async function lockItems(
  sql: Sql,
  schema: SchemaName,
  set: { readonly tenant: string; readonly id: string },
  limit: number,
): Promise<readonly ReplayItem[]> {
  const { rows } = await sql<ReplayItem>(
    `SELECT position, event_key AS "eventKey", event
     FROM ${schema}.replay_set_items
     WHERE tenant = $1 AND set_id = $2 AND outcome IS NULL
     ORDER BY position
     LIMIT $3
     FOR UPDATE SKIP LOCKED`,
    [set.tenant, set.id, limit],
  );
  return rows;
}
