import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { pino } from 'pino';
import { inject } from 'vitest';
import { createCatalogue } from '../../src/effects/catalogue.js';
import type { Effect } from '../../src/effects/effect.js';
import { eventKey } from '../../src/identity/event-identity.js';
import type { Ledger } from '../../src/ledger/ledger.js';
import type { PgTransaction } from '../../src/ledger/pg-database.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import { createMetrics, type Metrics } from '../../src/runtime/metrics.js';
import { sha256 } from '../../src/runtime/sha256.js';
import type { Source } from '../../src/sources/define-source.js';
import { createWorker, type OnefoldWorker } from '../../src/worker/create-worker.js';
import type { ProcessEventInput, ProcessEventResult } from '../../src/workflows/contract.js';
import { createTestDatabase } from './database.js';

/** One line of the log of a harness. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A worker on a task queue and database of its own, without a receiver: for tests of events and effects. */
export interface Harness {
  readonly client: Client;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  readonly ledger: Ledger<PgTransaction>;
  readonly metrics: Metrics;
  readonly lines: LogLine[];
  /** Starts an event as the receiver would. */
  start(event: TestEvent): Promise<WorkflowHandle>;
  input(event: TestEvent): ProcessEventInput;
  key(event: Pick<TestEvent, 'source' | 'id' | 'tenant'>): string;
  sql<Row = Record<string, any>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Starts another worker of the same configuration, or of another one. */
  worker(configuration?: Configuration): Promise<RunningWorker>;
  close(): Promise<void>;
}

export interface RunningWorker {
  stop(): Promise<void>;
}

export interface Configuration {
  readonly sources: readonly Source[];
  readonly effects: readonly Effect[];
}

export interface TestEvent {
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly body: unknown;
  readonly effects: readonly string[];
  readonly tenant?: string;
  readonly replay?: ProcessEventInput['replay'];
}

export interface HarnessOptions {
  /** Default: the live run's Temporal. */
  readonly address?: string;
  readonly namespace?: string;
  /** Tables that the effects write to. */
  readonly setup?: string;
  /** Start a worker at once. Default true. */
  readonly worker?: boolean;
}

export async function createHarness(configuration: Configuration, options: HarnessOptions = {}): Promise<Harness> {
  const database = await createTestDatabase();
  const address = options.address ?? inject('temporalAddress');
  const namespace = options.namespace ?? 'default';
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  const taskQueue = `test-${randomUUID()}`;
  const lines: LogLine[] = [];
  const log = pino(
    { level: 'debug', base: {}, formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const metrics = createMetrics();
  const ledger: Ledger<PgTransaction> = {
    database: pgDatabase({ connectionString: database.url, max: 30 }),
    schema: schemaName('onefold'),
  };
  if (options.setup) await ledger.database.query(options.setup);
  const running: RunningWorker[] = [];
  const key = (event: Pick<TestEvent, 'source' | 'id' | 'tenant'>) =>
    eventKey({ tenant: event.tenant ?? '', source: event.source, id: event.id }, sha256);
  const harness: Harness = {
    client,
    taskQueue,
    databaseUrl: database.url,
    ledger,
    metrics,
    lines,
    key,
    input: (event) => {
      const text = JSON.stringify(event.body);
      return {
        version: 1,
        tenant: event.tenant ?? '',
        source: event.source,
        id: event.id,
        type: event.type,
        digest: sha256(text),
        receivedAt: new Date().toISOString(),
        payload: { text },
        effects: event.effects,
        ...(event.replay ? { replay: event.replay } : {}),
      };
    },
    start: (event) =>
      client.workflow.start('processEvent', {
        workflowId: key(event),
        taskQueue,
        args: [harness.input(event)],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      }),
    sql: async <Row>(text: string, values?: readonly unknown[]) =>
      (await ledger.database.query<Row>(text, values)).rows,
    worker: async (other = configuration) => {
      let worker: OnefoldWorker;
      let run: Promise<void> | undefined;
      await new Promise<void>((resolve, reject) => {
        worker = createWorker(
          {
            catalogue: createCatalogue(other.sources, other.effects),
            ledger,
            client,
            temporal: { address, namespace },
            namespace,
            taskQueue,
            log,
            metrics,
          },
          { onReady: resolve, shutdownGraceMs: 1000, ownSignals: true },
        );
        run = worker.run();
        run.catch(reject);
      });
      const one: RunningWorker = {
        stop: async () => {
          worker.shutdown();
          await run;
        },
      };
      running.push(one);
      return one;
    },
    close: async () => {
      for (const one of running) await one.stop();
      await ledger.database.close();
      await connection.close();
      await database.drop();
    },
  };
  if (options.worker !== false) await harness.worker();
  return harness;
}

/** The result of an event, typed. */
export async function resultOf(handle: WorkflowHandle): Promise<ProcessEventResult> {
  return (await handle.result()) as ProcessEventResult;
}
