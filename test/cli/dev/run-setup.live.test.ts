import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runSetup } from '../../../src/cli/dev/run-setup.js';
import { createTestDatabase } from '../../setup/database.js';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let folder: string;
beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'onefold-setup-'));
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function tables(): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const { rows } = await client.query(
      "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
    );
    return rows.map(({ table_name }) => table_name as string);
  } finally {
    await client.end();
  }
}

test('several statements are run, and may be run again', async () => {
  const file = join(folder, 'schema.sql');
  await writeFile(file, 'CREATE TABLE IF NOT EXISTS one (id int); CREATE TABLE IF NOT EXISTS two (id int);');
  await runSetup(database.url, file);
  await runSetup(database.url, file);
  expect((await tables()).sort()).toEqual(['one', 'two']);
});

test('a file with a mistake names the file and leaves nothing behind', async () => {
  const file = join(folder, 'mistake.sql');
  await writeFile(file, 'CREATE TABLE three (id int); CREATE TABEL four (id int);');
  await expect(runSetup(database.url, file)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('mistake.sql'),
  });
  expect(await tables()).not.toContain('three');
});

test('a file that is not there is named', async () => {
  await expect(runSetup(database.url, join(folder, 'none.sql'))).rejects.toMatchObject({ code: 'config_invalid' });
});
