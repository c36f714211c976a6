import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { RequestHandler } from 'express';
import { inject } from 'vitest';
import type { Effect } from '../../../src/effects/effect.js';
import type { Ledger } from '../../../src/ledger/ledger.js';
import { pgDatabase } from '../../../src/ledger/pg-database.js';
import { defaultSchema, schemaName } from '../../../src/ledger/schema-name.js';
import { createReceiver, type Receiver } from '../../../src/receiver/create-receiver.js';
import { createMetrics, type Metrics } from '../../../src/runtime/metrics.js';
import type { Sealer } from '../../../src/runtime/seal.js';
import { connectClient, type TemporalClient } from '../../../src/runtime/temporal.js';
import type { Source } from '../../../src/sources/define-source.js';
import { createTestDatabase } from '../../setup/database.js';
import { captureLog, type LogLine } from './captured-log.js';
import { type HttpReceiver, serveReceiver } from './http-server.js';
import type { Delivery } from './sources.js';

/** What a test of the receiver stands on: a ledger of its own and a task queue of its own. */
export interface ReceiverHarness {
  readonly ledger: Ledger;
  readonly databaseUrl: string;
  readonly temporal: TemporalClient;
  readonly taskQueue: string;
  /** Opens a receiver behind HTTP; closed with the harness. */
  open(options: OpenOptions): Promise<OpenReceiver>;
  /** Runs the scripted workflow of the tests on the task queue until the harness is closed. */
  startWorker(): Promise<void>;
  close(): Promise<void>;
}

/** What to open a receiver with. */
export interface OpenOptions {
  readonly sources: readonly { readonly source: Source; readonly effects: readonly Effect[] }[];
  readonly before?: readonly RequestHandler[];
  readonly now?: () => Date;
  readonly temporal?: TemporalClient;
  readonly ledger?: Ledger;
  readonly taskQueue?: string;
  readonly namespace?: string;
  readonly sealer?: Sealer;
}

/** A receiver behind HTTP, and what it leaves behind. */
export interface OpenReceiver {
  readonly receiver: Receiver;
  readonly http: HttpReceiver;
  readonly metrics: Metrics;
  readonly lines: LogLine[];
  /** Sends one delivery to a source. */
  send(source: string, delivery: Delivery, headers?: Record<string, string>): Promise<Answer>;
}

/** An answer, read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: any;
}

/** Makes a harness against the run's servers. */
export async function createHarness(): Promise<ReceiverHarness> {
  const { url, drop } = await createTestDatabase();
  const database = pgDatabase({ connectionString: url });
  const ledger = { database, schema: schemaName(defaultSchema) };
  const temporal = connectClient({ address: inject('temporalAddress'), environment: {} });
  const taskQueue = `receiver-${randomUUID()}`;
  const closing: (() => Promise<unknown>)[] = [drop, () => database.close(), () => temporal.close()];
  return {
    ledger,
    databaseUrl: url,
    temporal,
    taskQueue,
    async open(options) {
      const opened = await openReceiver({ ledger, temporal, taskQueue, ...options });
      closing.push(async () => {
        await opened.receiver.close();
        await opened.http.close();
      });
      return opened;
    },
    async startWorker() {
      // The events of these tests fail on purpose; the SDK's warnings of it would hide a real one.
      Runtime.install({ logger: new DefaultLogger('ERROR') });
      const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
      const worker = await Worker.create({
        connection,
        taskQueue,
        workflowsPath: fileURLToPath(new URL('./process-event-workflow.ts', import.meta.url)),
      });
      const running = worker.run();
      closing.push(async () => {
        worker.shutdown();
        await running;
        await connection.close();
      });
    },
    async close() {
      for (const close of closing.reverse()) await close();
    },
  };
}

/** Opens a receiver behind HTTP, given everything it needs. */
export async function openReceiver(
  options: OpenOptions & { readonly ledger: Ledger; readonly temporal: TemporalClient; readonly taskQueue: string },
): Promise<OpenReceiver> {
  const { log, lines } = captureLog();
  const metrics = createMetrics();
  const { client, namespace } = options.temporal;
  const receiver = createReceiver({
    sources: options.sources.map(({ source }) => source),
    effects: options.sources.flatMap(({ effects }) => effects),
    client,
    namespace: options.namespace ?? namespace,
    taskQueue: options.taskQueue,
    ledger: options.ledger,
    log,
    metrics,
    ...(options.now ? { now: options.now } : {}),
    ...(options.sealer ? { sealer: options.sealer } : {}),
  });
  const http = await serveReceiver(receiver, ...(options.before ?? []));
  return {
    receiver,
    http,
    metrics,
    lines,
    async send(source, { headers, body }, extra = {}) {
      const response = await fetch(`${http.url}/${source}`, {
        method: 'POST',
        headers: { ...headers, ...extra },
        body: new Uint8Array(body),
      });
      return readAnswer(response);
    },
  };
}

/** Reads an answer whole. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, json: text === '' ? undefined : JSON.parse(text) };
}
