import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Deletes samples of refused requests received before a time, oldest first.
 *
 * @param limit Rows at most.
 * @returns Rows deleted; fewer than `limit` says that none is left.
 */
export async function deleteOldRejected(
  sql: Sql,
  schema: SchemaName,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  const { rowCount } = await sql(
    `DELETE FROM ${schema}.rejected_requests WHERE id = ANY(ARRAY(
       SELECT id FROM ${schema}.rejected_requests WHERE received_at < $1 ORDER BY received_at LIMIT $2
     ))`,
    [before, limit],
  );
  return rowCount;
}
