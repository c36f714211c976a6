import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Lists those of some patterns that any endpoint of any tenant subscribes to; removed ones subscribe to nothing. */
export async function listSubscribedPatterns(
  sql: Sql,
  schema: SchemaName,
  patterns: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ pattern: string }>(
    `SELECT DISTINCT pattern
     FROM ${schema}.endpoints e CROSS JOIN LATERAL unnest(e.types) AS pattern
     WHERE e.state <> 'removed' AND e.types && $1::text[] AND pattern = ANY($1)`,
    [patterns],
  );
  return new Set(rows.map(({ pattern }) => pattern));
}
