import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { inject } from 'vitest';
import { standardWebhooks } from '../../../src/sources/standard-webhooks.js';
import { types } from '../../../src/sources/types.js';
import { createTestDatabase } from '../../setup/database.js';
import { type Ended, endAll, onefold, type Running, type RunOptions, startOnefold } from './onefold-cli.js';

const secret = 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=';
const shop = standardWebhooks('shop', { secrets: secret, events: { 'order.paid': types<unknown>() } });

/** A configuration of the tests, and the environment that it needs: a ledger and a task queue of the test's own. */
export interface CliStage {
  readonly client: Client;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** Runs a command of the executable to its end. */
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Starts a receiver on a free port; resolves when it listens. */
  receiver(options?: RunOptions): Promise<Running & { readonly url: string }>;
  /** Starts a worker; resolves when it takes work. */
  worker(args?: readonly string[], options?: RunOptions): Promise<Running>;
  /** Delivers an event of the shop over HTTP, as its provider would. */
  deliver(receiverUrl: string, id: string, data?: Record<string, unknown>, type?: string): Promise<Delivered>;
  sql<Row = Record<string, any>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** What the effects noted, in all processes. */
  notes(): Promise<string[]>;
  close(): Promise<void>;
}

export interface Delivered {
  readonly status: number;
  readonly path: string | null;
  readonly json: any;
}

export async function createCliStage(
  config = fileURLToPath(new URL('../fixtures/onefold.ts', import.meta.url)),
  setup = 'CREATE TABLE shipments (order_id text NOT NULL)',
  namespace = 'default',
): Promise<CliStage> {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'onefold-cli-'));
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  // The database is dropped under connections that are still ending.
  pool.on('error', () => {});
  await pool.query(setup);
  const effectLog = join(folder, 'effects.log');
  await writeFile(effectLog, '');
  const address = inject('temporalAddress');
  const connection = await Connection.connect({ address });
  const env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    ONEFOLD_TASK_QUEUE: `cli-${randomUUID()}`,
    ONEFOLD_CONFIG: config,
    SHOP_WEBHOOK_SECRETS: secret,
    EFFECT_LOG: effectLog,
  };
  const withEnv = (options: RunOptions = {}): RunOptions => ({
    cwd: folder,
    ...options,
    env: { ...env, ...options.env },
  });
  return {
    client: new Client({ connection, namespace }),
    env,
    folder,
    run: (args, options) => onefold(args, withEnv(options)),
    async receiver(options) {
      const receiver = startOnefold(['receiver', '--host', '127.0.0.1', '--port', '0'], withEnv(options));
      const { url } = await receiver.line('receiver.ready');
      return Object.assign(receiver, { url: String(url) });
    },
    async worker(args = [], options) {
      const worker = startOnefold(['worker', ...args], withEnv(options));
      await worker.line('worker.ready');
      return worker;
    },
    async deliver(receiverUrl, id, data = {}, type = 'order.paid') {
      const body = Buffer.from(JSON.stringify({ type, data: { order: id, ...data } }));
      const headers = shop.preset.sign({ body, id, type, now: new Date() });
      const response = await fetch(`${receiverUrl}/shop`, { method: 'POST', headers, body });
      const text = await response.text();
      return { status: response.status, path: response.headers.get('onefold-path'), json: JSON.parse(text) };
    },
    sql: async (text, values) => (await pool.query(text, values ? [...values] : undefined)).rows,
    notes: async () => (await readFile(effectLog, 'utf8')).split('\n').filter((line) => line !== ''),
    async close() {
      await endAll();
      await pool.end();
      await connection.close();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}
