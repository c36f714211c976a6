import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrateLedger } from '../../../src/ledger/migrate.js';
import { freePort } from '../../../src/runtime/embedded/free-port.js';
import { startServers } from '../servers.js';
import { type NodeSettings, type Part, startNode } from '../start-node.js';
import type { Parts } from '../topology.js';

/**
 * Two applications with a database each: the publisher with two workers, one of which relays, and a relay; the partner with
 * two receivers and a worker. Each is a process of its own, beside Temporal and PostgreSQL.
 */
export interface PublishingTopology extends Parts {
  /** Of the partner's receivers: `http://host:port`. */
  readonly origins: readonly string[];
  readonly publisherUrl: string;
  readonly partnerUrl: string;
  readonly temporalAddress: string;
  /** What the publisher is set up with. */
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  /** Names of processes that ended without being asked. */
  readonly crashed: string[];
  stop(): Promise<void>;
}

const publisher = fileURLToPath(new URL('./publisher.ts', import.meta.url));
const partner = fileURLToPath(new URL('./partner.ts', import.meta.url));

export async function startPublishingTopology(progress: (line: string) => void): Promise<PublishingTopology> {
  const crashed: string[] = [];
  const { parts: servers, databaseUrl, urlOf, temporalAddress, folder, stop } = await startServers(progress);
  const partnerUrl = urlOf('partner');
  await runSql(databaseUrl, 'CREATE DATABASE partner');
  for (const connectionString of [databaseUrl, partnerUrl]) await migrateLedger({ connectionString });
  await runSql(
    partnerUrl,
    `CREATE SCHEMA proof;
     CREATE TABLE proof.bookings (id serial PRIMARY KEY, source text NOT NULL, event text NOT NULL)`,
  );

  const environment = {
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    ONEFOLD_LOG_LEVEL: 'warn',
    ONEFOLD_SECRETS_KEYS: `proof:${randomBytes(32).toString('base64')}`,
    ONEFOLD_EGRESS_ALLOW: '127.0.0.1',
  };
  const ofPublisher = { ...process.env, ...environment };
  const ofPartner = { ...ofPublisher, DATABASE_URL: partnerUrl };
  const start = (node: Omit<NodeSettings, 'folder' | 'crashed'>): Part => startNode({ ...node, folder, crashed });
  const sender = (name: string, ...command: string[]): Part =>
    start({ name, command, config: publisher, environment: ofPublisher });
  const workers = [
    sender('sender-1', 'worker'),
    sender('sender-2', 'worker', '--no-relay'),
    sender('relay', 'relay'),
    start({ name: 'partner-worker', command: ['worker'], config: partner, environment: ofPartner }),
  ];
  const ports = [await freePort(0), await freePort(0)];
  const receivers = ports.map((port, index) =>
    start({
      name: `receiver-${index + 1}`,
      command: ['receiver'],
      config: partner,
      environment: { ...ofPartner, ONEFOLD_HOST: '127.0.0.1', ONEFOLD_PORT: String(port) },
    }),
  );
  return {
    origins: ports.map((port) => `http://127.0.0.1:${port}`),
    receivers,
    workers,
    servers,
    publisherUrl: databaseUrl,
    partnerUrl,
    temporalAddress,
    environment,
    folder,
    crashed,
    async stop() {
      for (const part of [...receivers, ...workers]) await part.kill();
      await stop();
    },
  };
}

async function runSql(connectionString: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
