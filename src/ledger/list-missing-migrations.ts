import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

const folder = fileURLToPath(new URL('./migrations', import.meta.url));

/**
 * Lists the migrations of this version that a ledger does not have yet, oldest first. One that is ahead of this version,
 * as during a deploy, has none missing.
 *
 * @throws PostgreSQL's 3F000 or 42P01 where there is no ledger at all.
 */
export async function listMissingMigrations(sql: Sql, schema: SchemaName): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>(`SELECT name FROM ${schema}.migrations`);
  const applied = new Set(rows.map(({ name }) => name));
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort()
    .filter((name) => !applied.has(name));
}
