import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrateLedger } from '../../src/ledger/migrate.js';
import { freePort } from '../../src/runtime/embedded/free-port.js';
import { startServers } from './servers.js';
import { type NodeSettings, type Part, startNode } from './start-node.js';

/** Parts by what they are. */
export interface Parts {
  readonly receivers: readonly Part[];
  readonly workers: readonly Part[];
  readonly servers: readonly Part[];
}

/** Temporal and PostgreSQL with their data on disk, two receivers, two workers: each a process of its own. */
export interface Topology extends Parts {
  readonly receivers: readonly (Part & { readonly url: string })[];
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly folder: string;
  /** Names of processes that ended without being asked. */
  readonly crashed: string[];
  stop(): Promise<void>;
}

const config = fileURLToPath(new URL('./onefold.ts', import.meta.url));

/** @param settings Environment variables for the receivers and workers. */
export async function startTopology(
  progress: (line: string) => void,
  settings: Readonly<Record<string, string>>,
): Promise<Topology> {
  const crashed: string[] = [];
  const { parts: servers, databaseUrl, temporalAddress, folder, stop } = await startServers(progress);
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
  const start = (node: Pick<NodeSettings, 'name' | 'command' | 'environment'>): Part =>
    startNode({ ...node, config, folder, crashed });
  const workers = [1, 2].map((number) => start({ name: `worker-${number}`, command: ['worker'], environment }));
  const receivers = await Promise.all(
    [1, 2].map(async (number) => {
      const port = await freePort(0);
      const own = { ...environment, ONEFOLD_HOST: '127.0.0.1', ONEFOLD_PORT: String(port) };
      const part = start({ name: `receiver-${number}`, command: ['receiver'], environment: own });
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
      await stop();
    },
  };
}
