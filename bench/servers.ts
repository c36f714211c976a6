import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrateLedger } from '../src/ledger/migrate.js';
import { findTemporal } from '../src/runtime/embedded/find-temporal.js';
import { startPostgresServer } from '../src/runtime/embedded/postgres-server.js';
import { startTemporalServer } from '../src/runtime/embedded/temporal-server.js';
import { searchAttributeTypes } from '../src/workflows/contract.js';

/** The servers that both systems are measured on, one after the other. */
export interface Servers {
  readonly temporalAddress: string;
  readonly databaseUrl: string;
  readonly temporalPid: number;
  readonly postgresPid: number;
  /** For logs of the systems. */
  readonly folder: string;
  readonly database: pg.Pool;
  stop(): Promise<void>;
}

/** Starts PostgreSQL (durable, as in production) and a Temporal dev server in memory, tuned as `onefold dev` tunes it. */
export async function startServers(progress: (line: string) => void): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'onefold-bench-'));
  // As root, PostgreSQL runs as another user, who must get through.
  await chmod(folder, 0o711);
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const end of stops.reverse()) await end();
  };
  try {
    const executable = await findTemporal(progress);
    const postgres = await startPostgresServer({ folder, port: 0, progress });
    stops.push(postgres.stop);
    const temporal = await startTemporalServer({
      executable,
      folder,
      inMemory: true,
      port: 0,
      searchAttributes: searchAttributeTypes,
    });
    stops.push(temporal.stop);
    await migrateLedger({ connectionString: postgres.url });
    const database = new pg.Pool({ connectionString: postgres.url, max: 2 });
    stops.push(() => database.end());
    await database.query(`CREATE SCHEMA bench; CREATE TABLE bench.shipments (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id text NOT NULL UNIQUE)`);
    return {
      temporalAddress: temporal.address,
      databaseUrl: postgres.url,
      temporalPid: temporal.pid,
      postgresPid: postgres.pid,
      folder,
      database,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
