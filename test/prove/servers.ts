import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findTemporal } from '../../src/runtime/embedded/find-temporal.js';
import { type PostgresServer, startPostgresServer } from '../../src/runtime/embedded/postgres-server.js';
import { startTemporalServer, type TemporalServer } from '../../src/runtime/embedded/temporal-server.js';
import { searchAttributeTypes } from '../../src/workflows/contract.js';
import type { Part } from './start-node.js';

/** Temporal and PostgreSQL with their data on disk, which come back with what they had. */
export interface Servers {
  readonly parts: readonly Part[];
  /** Of the database `onefold`. */
  readonly databaseUrl: string;
  urlOf(database: string): string;
  readonly temporalAddress: string;
  /** For logs, beside the servers' own. */
  readonly folder: string;
  stop(): Promise<void>;
}

/** Long enough for a loaded machine; a part that is not back by then is broken. */
const backWithinMs = 60_000;

export async function startServers(progress: (line: string) => void): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'onefold-proof-'));
  // As root, PostgreSQL runs as another user, who must get through.
  await chmod(folder, 0o711);
  const executable = await findTemporal(progress);
  let postgres: PostgresServer = await startPostgresServer({ folder, port: 0, progress });
  const temporalOptions = { executable, folder, searchAttributes: searchAttributeTypes };
  let temporal: TemporalServer = await startTemporalServer({ ...temporalOptions, port: 0 });
  const { url: databaseUrl, port: postgresPort } = postgres;
  const temporalAddress = temporal.address;
  const temporalPort = Number(temporalAddress.split(':').at(-1));
  const parts: Part[] = [
    {
      name: 'postgres',
      pid: () => postgres.pid,
      kill: async () => {
        process.kill(postgres.pid, 'SIGKILL');
        await postgres.exited;
      },
      restart: async () => {
        postgres = await again(() => startPostgresServer({ folder, port: postgresPort, progress: () => {} }));
        if (postgres.port !== postgresPort) throw new Error('PostgreSQL came back on another port');
      },
    },
    {
      name: 'temporal',
      pid: () => temporal.pid,
      kill: async () => {
        process.kill(temporal.pid, 'SIGKILL');
        await temporal.exited;
      },
      restart: async () => {
        temporal = await again(() => startTemporalServer({ ...temporalOptions, port: temporalPort }));
      },
    },
  ];
  return {
    parts,
    databaseUrl,
    urlOf: (database) => postgres.urlOf(database),
    temporalAddress,
    folder,
    async stop() {
      await temporal.stop(true);
      await postgres.stop(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A killed server's children and locks take a moment to go. */
async function again<Value>(start: () => Promise<Value>): Promise<Value> {
  const until = Date.now() + backWithinMs;
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (Date.now() > until) throw error;
      await sleep(250);
    }
  }
}
