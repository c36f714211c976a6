import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** How many effects wait for a person, of all tenants. */
export async function countParked(sql: Sql, schema: SchemaName): Promise<number> {
  const { rows } = await sql<{ parked: number }>(
    `SELECT count(*)::int AS parked FROM ${schema}.effects WHERE state = 'parked'`,
  );
  return rows[0]?.parked ?? 0;
}
