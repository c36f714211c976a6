import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { EndpointRef } from './endpoint-row.js';

/** Where counting ends, so that a look stays quick. */
export const countedLetters = 10_000;

/** Counts the open dead letters of an endpoint's deliveries, up to {@link countedLetters}. */
export async function countOpenLetters(sql: Sql, schema: SchemaName, { tenant, id }: EndpointRef): Promise<number> {
  const { rows } = await sql<{ readonly count: string }>(
    `SELECT count(*) FROM (
       SELECT FROM ${schema}.dead_letters
       WHERE tenant = $1 AND source = $2 AND kind = 'delivery' AND closed_at IS NULL
       LIMIT $3) AS counted`,
    [tenant, id, countedLetters],
  );
  return Number(rows[0]?.count ?? 0);
}
