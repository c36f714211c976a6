import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import type { Effect } from '../../../src/effects/effect.js';
import type { Database } from '../../../src/ledger/database.js';
import { type PgTransaction, pgDatabase } from '../../../src/ledger/pg-database.js';
import { createOnefold, type Onefold } from '../../../src/onefold.js';
import type { Source } from '../../../src/sources/define-source.js';
import { shop } from '../../hazards/support/shop.js';
import { createTestDatabase } from '../../setup/database.js';
import type { LogLine } from '../../setup/harness.js';

/** A ledger and a task queue of one test file, on which one deploy follows another. */
export interface Stage {
  readonly client: Client;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  /** An application with these effects, as `createOnefold` makes it; its worker starts when asked. */
  deploy(effects: readonly Effect[], options?: DeployOptions): Deployed;
  sql<Row = Record<string, any>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Run ids of an event, in the order of their starts. */
  runsOf(eventKey: string): Promise<string[]>;
  close(): Promise<void>;
}

export interface DeployOptions {
  /** Stands between the application and its database. */
  readonly around?: (database: Database<PgTransaction>) => Database<PgTransaction>;
  /** In the place of the shop, with the same name, secret and types. */
  readonly source?: Source<any, any>;
}

/** One deploy of the application. */
export interface Deployed {
  readonly onefold: Onefold;
  readonly lines: LogLine[];
  /** Delivers an event of the shop, signed, in process. */
  deliver(id: string, data?: Record<string, unknown>): Promise<Answered>;
  startWorker(): Promise<void>;
  stopWorker(): Promise<void>;
}

export interface Answered {
  readonly status: number;
  readonly path: string | null;
  readonly json: any;
}

export interface StageOptions {
  /** Tables that the effects write to. */
  readonly setup?: string;
  /** Default `default`. */
  readonly namespace?: string;
}

export async function createStage(options: StageOptions = {}): Promise<Stage> {
  const { url, drop } = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  // The database is dropped under connections that are still ending.
  pool.on('error', () => {});
  if (options.setup) await pool.query(options.setup);
  const address = inject('temporalAddress');
  const namespace = options.namespace ?? 'default';
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  const taskQueue = `operations-${randomUUID()}`;
  const closing: (() => Promise<unknown>)[] = [drop, () => pool.end(), () => connection.close()];

  return {
    client,
    taskQueue,
    databaseUrl: url,
    sql: async (text, values) => (await pool.query(text, values ? [...values] : undefined)).rows,
    async runsOf(eventKey) {
      const runs: { runId: string; startTime: Date }[] = [];
      for await (const run of client.workflow.list({ query: `WorkflowId = '${eventKey}'` })) runs.push(run);
      return runs.sort((one, other) => one.startTime.getTime() - other.startTime.getTime()).map(({ runId }) => runId);
    },
    deploy(effects, deployOptions = {}) {
      const lines: LogLine[] = [];
      const logger = pino(
        { level: 'debug', base: {}, formatters: { level: (label) => ({ level: label }) } },
        { write: (line: string) => void lines.push(JSON.parse(line)) },
      );
      const own = pgDatabase({ connectionString: url, max: 20 });
      const onefold = createOnefold({
        sources: [deployOptions.source ?? shop],
        effects,
        taskQueue,
        logger,
        database: deployOptions.around?.(own) ?? own,
        temporal: { address, namespace, environment: {} },
      });
      let stop: (() => Promise<void>) | undefined;
      const deployed: Deployed = {
        onefold,
        lines,
        async deliver(id, data = {}) {
          const body = Buffer.from(JSON.stringify({ type: 'order.paid', data: { order: id, ...data } }));
          const headers = shop.preset.sign({ body, id, type: 'order.paid', now: new Date() });
          const request = new Request('http://receiver.example/webhooks/shop', { method: 'POST', headers, body });
          const response = await onefold.fetch(request);
          const text = await response.text();
          return { status: response.status, path: response.headers.get('onefold-path'), json: JSON.parse(text) };
        },
        async startWorker() {
          await new Promise<void>((resolve, reject) => {
            const worker = onefold.worker({ ownSignals: true, shutdownGraceMs: 1000, onReady: resolve });
            const run = worker.run();
            run.catch(reject);
            stop = async () => {
              worker.shutdown();
              await run;
            };
          });
        },
        async stopWorker() {
          await stop?.();
          stop = undefined;
        },
      };
      closing.push(async () => {
        await deployed.stopWorker();
        await onefold.close();
        await own.close();
      });
      return deployed;
    },
    async close() {
      for (const close of closing.reverse()) await close();
    },
  };
}
