import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** An event of a set that could not be replayed. */
export interface RefusedItem {
  /** `source/event-id` */
  readonly event: string;
  /** Its code and why. */
  readonly note: string;
}

/** Lists the first refused events of a set. */
export async function listRefused(
  sql: Sql,
  schema: SchemaName,
  set: { readonly tenant: string; readonly id: string },
  limit: number,
): Promise<readonly RefusedItem[]> {
  const { rows } = await sql<RefusedItem>(
    `SELECT event, coalesce(note, '') AS note
     FROM ${schema}.replay_set_items
     WHERE tenant = $1 AND set_id = $2 AND outcome = 'refused'
     ORDER BY position
     LIMIT $3`,
    [set.tenant, set.id, limit],
  );
  return rows;
}
