import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Deletes counts of refused requests of hours that began before a time.
 *
 * @param limit Rows at most.
 * @returns Rows deleted; fewer than `limit` says that none is left.
 */
export async function deleteOldRejectedCounts(
  sql: Sql,
  schema: SchemaName,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  const { rowCount } = await sql(
    `DELETE FROM ${schema}.rejected_counts WHERE ctid = ANY(ARRAY(
       SELECT ctid FROM ${schema}.rejected_counts WHERE hour < $1 LIMIT $2
     ))`,
    [before, limit],
  );
  return rowCount;
}
