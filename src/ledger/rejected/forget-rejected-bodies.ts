import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Removes kept bodies of refused requests whose time is over; the samples stay.
 *
 * @param limit Rows at most.
 * @returns Rows changed; fewer than `limit` says that none is left.
 */
export async function forgetRejectedBodies(
  sql: Sql,
  schema: SchemaName,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  const { rowCount } = await sql(
    `UPDATE ${schema}.rejected_requests SET body = NULL, body_key = NULL WHERE id = ANY(ARRAY(
       SELECT id FROM ${schema}.rejected_requests WHERE body IS NOT NULL AND body_until < $1 ORDER BY body_until LIMIT $2
     ))`,
    [before, limit],
  );
  return rowCount;
}
