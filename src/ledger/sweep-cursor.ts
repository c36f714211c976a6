import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** Until when a sweep has looked; undefined before the first. */
export async function readSweepCursor(sql: Sql, schema: SchemaName, name: string): Promise<Date | undefined> {
  const { rows } = await sql<{ swept_until: Date }>(`SELECT swept_until FROM ${schema}.sweeps WHERE name = $1`, [name]);
  return rows[0]?.swept_until;
}

/** Moves a sweep's cursor forward, never back. */
export async function moveSweepCursor(sql: Sql, schema: SchemaName, name: string, until: Date): Promise<void> {
  await sql(
    `INSERT INTO ${schema}.sweeps AS s (name, swept_until) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET swept_until = greatest(s.swept_until, EXCLUDED.swept_until)`,
    [name, until],
  );
}
