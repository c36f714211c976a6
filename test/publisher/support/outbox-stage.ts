import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { inject } from 'vitest';
import type { Ledger } from '../../../src/ledger/ledger.js';
import { type PgTransaction, pgDatabase } from '../../../src/ledger/pg-database.js';
import { schemaName } from '../../../src/ledger/schema-name.js';
import type { PublishDependencies } from '../../../src/publisher/publish.js';
import { createRelay, type Relay, type RelayDependencies } from '../../../src/publisher/relay.js';
import { deliveryTaskQueue } from '../../../src/workflows/delivery-contract.js';
import { createTestDatabase } from '../../setup/database.js';
import type { LogLine } from '../../setup/harness.js';
import { outgoing } from './outgoing.js';

/** A ledger with endpoints, and a task queue that nobody works on: what a relay starts stays to be counted. */
export interface OutboxStage {
  readonly databaseUrl: string;
  readonly client: Client;
  readonly taskQueue: string;
  readonly ledger: Ledger<PgTransaction>;
  readonly deps: PublishDependencies;
  readonly lines: LogLine[];
  sql<Row = Record<string, any>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  endpoint(
    id: string,
    options?: { readonly tenant?: string; readonly types?: string[]; readonly state?: string },
  ): Promise<void>;
  /** A relay that runs until the stage closes, or is stopped. */
  relay(more?: Partial<RelayDependencies>): RunningRelay;
  /** IDs of the workflows that were ever started for this stage, runs of one ID counted each. */
  started(): Promise<string[]>;
  close(): Promise<void>;
}

export interface RunningRelay {
  readonly relay: Relay;
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export async function createOutboxStage(options: { readonly namespace?: string } = {}): Promise<OutboxStage> {
  const database = await createTestDatabase();
  const namespace = options.namespace ?? 'default';
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const client = new Client({ connection, namespace });
  const taskQueue = `outbox-${randomUUID()}`;
  const ledger: Ledger<PgTransaction> = {
    database: pgDatabase({ connectionString: database.url, max: 20 }),
    schema: schemaName('onefold'),
  };
  const lines: LogLine[] = [];
  const log = pino(
    { level: 'debug', base: {}, formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const running = new Set<RunningRelay>();
  const sql = async <Row>(text: string, values?: readonly unknown[]) =>
    (await ledger.database.query<Row>(text, values)).rows;
  const stage: OutboxStage = {
    databaseUrl: database.url,
    client,
    taskQueue,
    ledger,
    deps: { ledger, publications: outgoing },
    lines,
    sql,
    async endpoint(id, { tenant = '', types: patterns = ['*'], state = 'enabled' } = {}) {
      await sql(
        `INSERT INTO onefold.endpoints (tenant, id, url, types, concurrency, state)
         VALUES ($1, $2, 'https://receiver.example/', $3, 10, $4)`,
        [tenant, id, patterns, state],
      );
    },
    relay(more = {}) {
      const relay = createRelay({ ledger, client, namespace, taskQueue, log, ...more });
      const ended = relay.run();
      ended.catch(() => {});
      const one: RunningRelay = {
        relay,
        ended,
        async stop() {
          running.delete(one);
          relay.shutdown();
          await ended;
        },
      };
      running.add(one);
      return one;
    },
    async started() {
      const ids: string[] = [];
      for await (const { workflowId } of client.workflow.list({
        query: `TaskQueue = '${deliveryTaskQueue(taskQueue)}'`,
      })) {
        ids.push(workflowId);
      }
      return ids.sort();
    },
    async close() {
      for (const one of [...running]) await one.stop();
      await ledger.database.close();
      await connection.close();
      await database.drop();
    },
  };
  return stage;
}
