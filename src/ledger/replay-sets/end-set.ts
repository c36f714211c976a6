import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Ends an open set of which every event has an outcome. @returns Whether this call ended it. */
export async function endSet(
  sql: Sql,
  schema: SchemaName,
  set: { readonly tenant: string; readonly id: string },
): Promise<boolean> {
  const { rowCount } = await sql(
    `UPDATE ${schema}.replay_sets s SET state = 'ended', ended_at = clock_timestamp()
     WHERE s.tenant = $1 AND s.id = $2 AND s.state = 'open' AND NOT EXISTS (
       SELECT 1 FROM ${schema}.replay_set_items i WHERE i.tenant = $1 AND i.set_id = $2 AND i.outcome IS NULL
     )`,
    [set.tenant, set.id],
  );
  return rowCount === 1;
}
