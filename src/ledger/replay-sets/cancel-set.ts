import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Ends an open set: what has no outcome is not replayed. Waits for the few events that a process is replaying right now,
 * which keep theirs.
 *
 * @returns Whether the set was open.
 */
export async function cancelSet(
  sql: Sql,
  schema: SchemaName,
  set: { readonly tenant: string; readonly id: string },
): Promise<boolean> {
  const { rowCount } = await sql(
    `WITH cancelled AS (
       UPDATE ${schema}.replay_sets SET state = 'cancelled', ended_at = clock_timestamp()
       WHERE tenant = $1 AND id = $2 AND state = 'open'
       RETURNING tenant, id
     ), items AS (
       UPDATE ${schema}.replay_set_items i SET outcome = 'cancelled', ended_at = clock_timestamp()
       FROM cancelled WHERE i.tenant = cancelled.tenant AND i.set_id = cancelled.id AND i.outcome IS NULL
     )
     SELECT 1 FROM cancelled`,
    [set.tenant, set.id],
  );
  return rowCount === 1;
}
