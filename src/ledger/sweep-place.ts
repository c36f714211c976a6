import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** Where a sweep that goes round by keys goes on, as it wrote it; undefined to begin anew. */
export async function readSweepPlace(sql: Sql, schema: SchemaName, name: string): Promise<string | undefined> {
  const { rows } = await sql<{ place: string | null }>(`SELECT place FROM ${schema}.sweeps WHERE name = $1`, [name]);
  return rows[0]?.place ?? undefined;
}

/** Notes where such a sweep goes on; undefined where it came to the end of its round. */
export async function moveSweepPlace(
  sql: Sql,
  schema: SchemaName,
  name: string,
  place: string | undefined,
): Promise<void> {
  await sql(
    `INSERT INTO ${schema}.sweeps (name, swept_until, place) VALUES ($1, clock_timestamp(), $2)
     ON CONFLICT (name) DO UPDATE SET swept_until = EXCLUDED.swept_until, place = EXCLUDED.place`,
    [name, place ?? null],
  );
}
