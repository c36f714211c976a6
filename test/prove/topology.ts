import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrateLedger } from '../../src/ledger/migrate.js';
import { findTemporal } from '../../src/runtime/embedded/find-temporal.js';
import { freePort } from '../../src/runtime/embedded/free-port.js';
import { type PostgresServer, startPostgresServer } from '../../src/runtime/embedded/postgres-server.js';
import { startTemporalServer, type TemporalServer } from '../../src/runtime/embedded/temporal-server.js';
import { searchAttributeTypes } from '../../src/workflows/contract.js';

/** What can be hurt, and how it comes back. */
export interface Part {
  readonly name: string;
  pid(): number;
  /** SIGKILL, at once. */
  kill(): Promise<void>;
  /** Starts it again where it stood, and resolves when it serves. */
  restart(): Promise<void>;
}

/** Temporal and PostgreSQL with their data on disk, two receivers, two workers: each a process of its own. */
export interface Topology {
  readonly receivers: readonly (Part & { readonly url: string })[];
  readonly workers: readonly Part[];
  readonly servers: readonly Part[];
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly folder: string;
  /** Names of processes that ended without being asked. */
  readonly crashed: string[];
  stop(): Promise<void>;
}

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const config = fileURLToPath(new URL('./onefold.ts', import.meta.url));

/** Long enough for a loaded machine; a part that is not back by then is broken. */
const backWithinMs = 60_000;

/** @param settings Environment variables for the receivers and workers. */
export async function startTopology(
  progress: (line: string) => void,
  settings: Readonly<Record<string, string>>,
): Promise<Topology> {
  const crashed: string[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'onefold-proof-'));
  // As root, PostgreSQL runs as another user, who must get through.
  await chmod(folder, 0o711);
  const executable = await findTemporal(progress);
  let postgres: PostgresServer = await startPostgresServer({ folder, port: 0, progress });
  const temporalOptions = { executable, folder, searchAttributes: searchAttributeTypes };
  let temporal: TemporalServer = await startTemporalServer({ ...temporalOptions, port: 0 });
  const databaseUrl = postgres.url;
  const temporalAddress = temporal.address;
  await migrateLedger({ connectionString: databaseUrl });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('CREATE SCHEMA proof');
  await client.query(
    'CREATE TABLE proof.shipments (id serial PRIMARY KEY, fulfilment text NOT NULL, event text NOT NULL)',
  );
  await client.end();

  const environment = {
    ...process.env,
    ...settings,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    ONEFOLD_LOG_LEVEL: 'warn',
  };
  const postgresPort = postgres.port;
  const temporalPort = Number(temporalAddress.split(':').at(-1));
  const servers: Part[] = [
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
  const workers = await Promise.all(
    [1, 2].map((number) => startNode(`worker-${number}`, 'worker', folder, environment, crashed)),
  );
  const receivers = await Promise.all(
    [1, 2].map(async (number) => {
      const port = await freePort(0);
      const part = await startNode(
        `receiver-${number}`,
        'receiver',
        folder,
        {
          ...environment,
          ONEFOLD_HOST: '127.0.0.1',
          ONEFOLD_PORT: String(port),
        },
        crashed,
      );
      return { ...part, url: `http://127.0.0.1:${port}/webhooks/shop` };
    }),
  );
  return {
    receivers,
    workers,
    servers,
    databaseUrl,
    temporalAddress,
    folder,
    crashed,
    async stop() {
      for (const part of [...receivers, ...workers]) await part.kill();
      await temporal.stop(true);
      await postgres.stop(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startNode(
  name: string,
  command: 'receiver' | 'worker',
  folder: string,
  environment: NodeJS.ProcessEnv,
  crashed: string[],
): Promise<Part> {
  const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
  const launch = (): ChildProcess => {
    const started = spawn(process.execPath, [main, command, '--config', config], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.stdout?.pipe(log, { end: false });
    started.stderr?.pipe(log, { end: false });
    started.once('exit', (code, signal) => {
      if (signal !== 'SIGKILL') crashed.push(`${name} (${signal ?? `exit code ${code}`})`);
    });
    return started;
  };
  let child = launch();
  return {
    name,
    pid: () => child.pid ?? 0,
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    },
    restart: async () => {
      child = launch();
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
