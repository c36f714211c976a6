import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { migrateLedger } from '../../src/ledger/migrate.js';

/** A database of one test file. */
export interface TestDatabase {
  readonly url: string;
  /** Removes it, cutting connections that are left. */
  drop(): Promise<void>;
}

/** The migrated database that all others are copies of. */
const templateName = 'onefold_template';

/** Any number: it only has to be the same in all test processes of a run. */
const templateLock = 7_233;

/**
 * Makes a fresh database with a migrated ledger (schema `onefold`), by copying a template: some 20 ms instead of the
 * migrations' time. Safe to call from several test processes at once.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const maintenanceUrl = inject('databaseUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await withClient(maintenanceUrl, async (client) => {
    // One at a time: a template cannot be copied while it is being made, nor made twice.
    await client.query('SELECT pg_advisory_lock($1)', [templateLock]);
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate', [templateName]);
    if (found.rowCount === 0) await makeTemplate(client, maintenanceUrl);
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${templateName}`);
  });
  return {
    url: urlOf(maintenanceUrl, name),
    drop: () =>
      withClient(maintenanceUrl, async (client) => {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}

async function makeTemplate(client: pg.Client, maintenanceUrl: string): Promise<void> {
  // A migration that failed in an earlier test process left it unmarked.
  await client.query(`DROP DATABASE IF EXISTS ${templateName} WITH (FORCE)`);
  await client.query(`CREATE DATABASE ${templateName}`);
  await migrateLedger({ connectionString: urlOf(maintenanceUrl, templateName), schema: 'onefold' });
  await client.query(`ALTER DATABASE ${templateName} IS_TEMPLATE true`);
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function urlOf(maintenanceUrl: string, database: string): string {
  const url = new URL(maintenanceUrl);
  url.pathname = `/${database}`;
  return url.href;
}
