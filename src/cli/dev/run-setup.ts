import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { OnefoldError } from '../../errors.js';

/**
 * Runs a file of SQL, all of it or nothing. It is run at every start, so it has to say IF NOT EXISTS.
 *
 * @throws {OnefoldError} `config_invalid` naming the file, and what PostgreSQL said of it.
 */
export async function runSetup(connectionString: string, file: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  try {
    const sql = await readFile(file, 'utf8');
    await client.connect();
    // Without parameters several statements go as one, which PostgreSQL runs in one transaction.
    await client.query(sql);
  } catch (cause) {
    throw new OnefoldError('config_invalid', `--setup ${file}: ${(cause as Error).message}`, { cause });
  } finally {
    await client.end().catch(() => {});
  }
}
