import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import pg from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import { pgDatabase } from '../../../../src/ledger/pg-database.js';
import { createOnefold } from '../../../../src/onefold.js';
import { standardWebhooks } from '../../../../src/sources/standard-webhooks.js';
import { types } from '../../../../src/sources/types.js';
import { createTestDatabase } from '../../../setup/database.js';

/** Another company's application, which receives with Onefold: its own ledger, task queue, receiver and worker. */
export interface ReceivingPartner {
  /** `http://host:port`; its source is at {@link sourcePath}. */
  readonly origin: string;
  /** Webhook-ids of the effects it has taken, one for each row: nothing but its ledger keeps them apart. */
  bookings(): Promise<string[]>;
  close(): Promise<void>;
}

export const sourcePath = '/webhooks/publisher';

/** @param secret Of the publisher's endpoint. */
export async function startReceivingPartner(secret: string): Promise<ReceivingPartner> {
  const { url, drop } = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => {});
  await pool.query('CREATE TABLE bookings (id serial PRIMARY KEY, event text NOT NULL)');
  const database = pgDatabase({ connectionString: url, max: 40 });
  const publisher = standardWebhooks('publisher', {
    secrets: secret,
    events: { 'order.confirmed': types<{ order: string }>() },
  });
  const book = publisher.effect('book', {
    on: 'order.confirmed',
    // By the event alone: another webhook-id would be another booking.
    businessKey: (event) => `booking:${event.id}`,
    commit: async ({ event, tx }) => {
      await tx.query('INSERT INTO bookings (event) VALUES ($1)', [event.id]);
    },
  });
  const onefold = createOnefold({
    sources: [publisher],
    effects: [book],
    database,
    taskQueue: `partner-${randomUUID()}`,
    temporal: { address: inject('temporalAddress'), environment: {} },
    logger: pino({ level: 'silent' }),
  });
  let ready = (): void => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const worker = onefold.worker({ ownSignals: true, shutdownGraceMs: 1000, onReady: ready });
  const run = worker.run();
  await Promise.race([isReady, run]);
  const app = express();
  app.use('/webhooks', onefold.receiver);
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async bookings() {
      const { rows } = await pool.query<{ event: string }>('SELECT event FROM bookings ORDER BY id');
      return rows.map(({ event }) => event);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      worker.shutdown();
      await run;
      await onefold.close();
      await database.close();
      await pool.end();
      await drop();
    },
  };
}
