import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { OnefoldError } from '../errors.js';
import { defaultSchema, schemaName } from './schema-name.js';

/** Options of {@link migrateLedger}. */
export interface MigrateOptions {
  readonly connectionString: string;
  /** Default 'onefold'. */
  readonly schema?: string;
  /** Told the name of each migration that is applied. */
  readonly onProgress?: (line: string) => void;
}

const folder = fileURLToPath(new URL('./migrations', import.meta.url));

/** Any number serves, as long as it is ours: it keeps two processes from migrating at once. */
const lockKey = 6_633_653_213;

/**
 * Brings the ledger's schema up to this version. Safe from several processes at once: one migrates, the others wait and
 * find nothing left to do.
 *
 * @returns Names of the migrations applied, oldest first.
 * @throws {OnefoldError} `ledger_unavailable` when PostgreSQL cannot be reached.
 */
export async function migrateLedger(options: MigrateOptions): Promise<string[]> {
  const schema = options.schema ?? defaultSchema;
  schemaName(schema);
  const client = new pg.Client({ connectionString: options.connectionString, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (cause) {
    throw new OnefoldError('ledger_unavailable', `PostgreSQL cannot be reached: ${(cause as Error).message}`, {
      cause,
    });
  }
  try {
    // Held around the whole run, the creation of the schema included, which the tool's own lock does not cover.
    await client.query('SELECT pg_advisory_lock($1)', [lockKey]);
    const applied = await runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      schema,
      createSchema: true,
      migrationsSchema: schema,
      migrationsTable: 'migrations',
      noLock: true,
      log: () => {},
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    });
    for (const { name } of applied) options.onProgress?.(`applied ${name}`);
    return applied.map(({ name }) => name);
  } finally {
    await client.end().catch(() => {});
  }
}
