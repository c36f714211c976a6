import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { until } from './support/until.js';

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  // Fewer attempts than the database is tried: only what began may count.
  retry: { initialInterval: 20, maximumAttempts: 2 },
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let harness: Harness;
let door: Server;
const open = new Set<Socket>();
let port = 0;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable, worker: false });
  const target = new URL(harness.databaseUrl);
  door = createServer((client) => {
    const server = connect(Number(target.port), target.hostname);
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('error', () => {}).on('close', () => open.delete(socket));
    }
    client.pipe(server).pipe(client);
  });
  await listen();
  const url = new URL(harness.databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  Object.assign(harness.ledger, { database: pgDatabase({ connectionString: url.href, connectTimeoutMs: 500 }) });
});
afterAll(async () => {
  await harness?.close();
  door.close();
});

function listen(): Promise<void> {
  return new Promise((resolve) => {
    door.listen(port, '127.0.0.1', () => {
      const address = door.address();
      if (address !== null && typeof address !== 'string') port = address.port;
      resolve();
    });
  });
}
async function shut(): Promise<void> {
  const closed = new Promise<void>((resolve) => door.close(() => resolve()));
  for (const socket of open) socket.destroy();
  await closed;
}

test('a database that is away for longer than the attempts would last spends none of them', async () => {
  const worker = await harness.worker();
  await shut();
  const event = orderPaid();
  const handle = await harness.start(event);
  const tries = () => harness.lines.filter(({ code }) => code === 'ledger_unavailable').length;
  await until('several tries', () => tries() >= 3, 30_000);
  await listen();
  await handle.signal('retryNow');
  expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ outcome: 'done', attempts: 1 }] });
  await worker.stop();
});
