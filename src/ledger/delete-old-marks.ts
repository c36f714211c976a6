import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Deletes attempt marks that were left before a time.
 *
 * @param limit Rows at most.
 * @returns Rows deleted; fewer than `limit` says that none is left.
 */
export async function deleteOldMarks(
  sql: Sql,
  schema: SchemaName,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  const { rowCount } = await sql(
    `DELETE FROM ${schema}.attempt_marks WHERE ctid = ANY(ARRAY(
       SELECT ctid FROM ${schema}.attempt_marks WHERE at < $1 LIMIT $2
     ))`,
    [before, limit],
  );
  return rowCount;
}
