import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Counts deliveries that have not ended, up to a limit, by the indexes of those. */
export async function countOpenDeliveries(sql: Sql, schema: SchemaName, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>(
    `SELECT count(*)::integer AS count FROM (
       (SELECT 1 FROM ${schema}.publication_deliveries WHERE state = 'queued' LIMIT $1)
       UNION ALL
       (SELECT 1 FROM ${schema}.publication_deliveries WHERE state = 'started' LIMIT $1)
       LIMIT $1
     ) AS open`,
    [limit],
  );
  return rows[0]?.count ?? 0;
}
