import { randomBytes, randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import pg from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import { publicationKey } from '../../../src/identity/publication-identity.js';
import { pgDatabase } from '../../../src/ledger/pg-database.js';
import { createOnefold, type Onefold } from '../../../src/onefold.js';
import { operationsContext } from '../../../src/operations/context.js';
import type { EndpointSettings } from '../../../src/publisher/endpoint-settings.js';
import { publications } from '../../../src/publisher/publications.js';
import { createSealer } from '../../../src/runtime/seal.js';
import { sha256 } from '../../../src/runtime/sha256.js';
import { types } from '../../../src/sources/types.js';
import {
  createWorker,
  type OnefoldWorker,
  type WorkerOptions,
  type WorkerPublishing,
} from '../../../src/worker/create-worker.js';
import type { DeliverPublicationResult } from '../../../src/workflows/delivery-contract.js';
import { createTestDatabase } from '../../setup/database.js';
import type { LogLine } from '../../setup/harness.js';

/** What the tests publish: an order, and anything else. */
export const outgoing = publications({
  events: { 'order.confirmed': types<{ readonly order: string }>(), 'order.note': types<unknown>() },
});

/** The receivers stand on this machine. */
const allow = ['127.0.0.1', 'localhost', '::1'];

/** The key of every stage, for processes that a test starts. */
export const secretsKeys = `test:${randomBytes(32).toString('base64')}`;

/** A whole application that publishes: ledger, relay and worker on real servers. */
export interface DeliveryStage {
  readonly client: Client;
  readonly onefold: Onefold<(typeof outgoing)['events']>;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  readonly lines: LogLine[];
  /** Adds an endpoint with quick pauses, unless told otherwise; resolves with its id and secret. */
  endpoint(
    url: string,
    more?: Partial<EndpointSettings> & { readonly tenant?: string },
  ): Promise<{ id: string; secret: string }>;
  /** Publishes an order, under an identity of its own unless told otherwise. */
  publish(publication?: string, tenant?: string): Promise<{ publication: string; eventId: string }>;
  handle(endpoint: string, publication: string, tenant?: string): WorkflowHandle;
  /** Waits for the workflow of a delivery: its result, or the type of its failure. */
  end(endpoint: string, publication: string, tenant?: string): Promise<DeliverPublicationResult | { failed: string }>;
  row(endpoint: string, publication: string, tenant?: string): Promise<Record<string, any>>;
  sql<Row = Record<string, any>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Starts another worker; stopped with the stage. */
  worker(options?: WorkerOptions, publishing?: Partial<WorkerPublishing>): Promise<{ stop(): Promise<void> }>;
  close(): Promise<void>;
}

/** Pauses that keep a test short. */
export const quickPauses = [100, 100, 100];

export async function createDeliveryStage(
  options: { readonly worker?: boolean; readonly namespace?: string } = {},
): Promise<DeliveryStage> {
  const { url, drop } = await createTestDatabase();
  const namespace = options.namespace ?? 'default';
  const address = inject('temporalAddress');
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  const taskQueue = `delivery-${randomUUID()}`;
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  // The database is dropped under connections that are still ending.
  pool.on('error', () => {});
  const lines: LogLine[] = [];
  const logger = pino(
    { level: 'debug', base: {}, formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  process.env.ONEFOLD_SECRETS_KEYS = secretsKeys;
  const database = pgDatabase({ connectionString: url, max: 40 });
  const onefold = createOnefold({
    sources: [],
    effects: [],
    publications: outgoing,
    egress: { allow, tenants: true },
    database,
    taskQueue,
    temporal: { address, namespace, environment: {} },
    logger,
  });
  const sql = async <Row>(text: string, values?: readonly unknown[]) =>
    (await pool.query(text, values ? [...values] : undefined)).rows as Row[];
  const running: { stop(): Promise<void> }[] = [];
  const stage: DeliveryStage = {
    client,
    onefold,
    taskQueue,
    databaseUrl: url,
    lines,
    sql,
    async endpoint(to, { tenant = '', ...more } = {}) {
      const { endpoint, secret } = await onefold.tenant(tenant).endpoints.create({
        url: to,
        types: ['*'],
        schedule: quickPauses,
        ...more,
      });
      return { id: endpoint.id, secret };
    },
    async publish(publication = `order:${randomUUID()}:v1`, tenant = '') {
      const { eventId } = await onefold.publish({
        publication,
        type: 'order.confirmed',
        data: { order: 'ord_1' },
        tenant,
      });
      return { publication, eventId };
    },
    handle: (endpoint, publication, tenant = '') =>
      client.workflow.getHandle(publicationKey({ tenant, endpoint, publication }, sha256)),
    async end(endpoint, publication, tenant = '') {
      const handle = stage.handle(endpoint, publication, tenant);
      for (;;) {
        try {
          return (await handle.result()) as DeliverPublicationResult;
        } catch (error) {
          const { name, cause } = error as { name: string; cause?: { type?: string; name?: string } };
          // A relay has not started it yet.
          if (name === 'WorkflowNotFoundError') await new Promise((resolve) => setTimeout(resolve, 50));
          else return { failed: cause?.type ?? cause?.name ?? name };
        }
      }
    },
    async row(endpoint, publication, tenant = '') {
      const [row] = await sql(
        'SELECT * FROM onefold.publication_deliveries WHERE tenant = $1 AND endpoint = $2 AND publication = $3',
        [tenant, endpoint, publication],
      );
      return row ?? {};
    },
    async worker(workerOptions = {}, publishing = {}) {
      const context = onefold[operationsContext];
      let worker: OnefoldWorker | undefined;
      let run: Promise<void> | undefined;
      await new Promise<void>((resolve, reject) => {
        worker = createWorker(
          {
            catalogue: context.catalogue,
            ledger: context.ledger,
            client: context.client,
            temporal: context.temporal,
            namespace,
            taskQueue,
            log: logger,
            metrics: context.metrics,
            publishing: {
              sealer: createSealer(secretsKeys),
              egressRules: context.egressRules,
              ...publishing,
            },
          },
          { onReady: resolve, shutdownGraceMs: 1000, ownSignals: true, ...workerOptions },
        );
        run = worker.run();
        run.catch(reject);
      });
      const one = {
        stop: async () => {
          worker?.shutdown();
          await run;
        },
      };
      running.push(one);
      return one;
    },
    async close() {
      for (const one of running) await one.stop();
      await onefold.close();
      await database.close();
      await pool.end();
      await connection.close();
      await drop();
    },
  };
  if (options.worker !== false) await stage.worker();
  return stage;
}
