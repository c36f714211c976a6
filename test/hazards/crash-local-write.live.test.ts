import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { createGate, type Gate } from './support/gate.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { killWorkers, spawnWorker } from './support/spawn-worker.js';

/** Recovery from a crash needs no redelivery: half a minute, and what a busy machine needs to start a process. */
const recoveredWithinMs = 45_000;

const gates = new Map<string, Gate>();
const trouble = new Map<string, string>();
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { initialInterval: 50, maximumInterval: 100, maximumAttempts: 5 },
  commit: async ({ event, tx }) => {
    const { order } = event.data;
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [order]);
    await gates.get(order)?.pass();
    const state = trouble.get(order);
    trouble.delete(order);
    if (state) await tx.query(`DO $$ BEGIN RAISE EXCEPTION 'as PostgreSQL does' USING ERRCODE = '${state}'; END $$`);
    return { order };
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable });
});
afterAll(async () => {
  await killWorkers();
  await harness?.close();
});

const rowsOf = async (id: string) => (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).length;

test.concurrent.each([
  ['before', 0],
  ['inside', 0],
  ['after', 1],
] as const)(
  'a worker killed with SIGKILL %s the transaction of its effect: one effect after a restart, without a redelivery',
  async (crashAt, rowsAfterDeath) => {
    const taskQueue = `crash-${randomUUID()}`;
    const settings = { address: inject('temporalAddress'), taskQueue, databaseUrl: harness.databaseUrl };
    const dying = await spawnWorker({ ...settings, crashAt });
    const event = orderPaid();
    const handle = await harness.client.workflow.start('processEvent', {
      workflowId: harness.key(event),
      taskQueue,
      args: [harness.input(event)],
    });
    expect(await dying.exited).toBe('SIGKILL');
    expect(await rowsOf(event.id)).toBe(rowsAfterDeath);
    expect((await handle.describe()).status.name).toBe('RUNNING');

    const next = await spawnWorker({ ...settings, crashAt: 'none' });
    const began = Date.now();
    const result = await resultOf(handle);
    next.kill('SIGKILL');
    expect(Date.now() - began).toBeLessThan(recoveredWithinMs);
    expect(result.effects[0]).toMatchObject({ fence: 1, businessKey: `shipment:${event.id}` });
    expect(['done', 'already_done']).toContain(result.outcome);
    expect(await rowsOf(event.id)).toBe(1);
    const [row] = await harness.sql('SELECT state, remaining FROM onefold.events WHERE event_id = $1', [event.id]);
    expect(row).toEqual({ state: 'done', remaining: 0 });
  },
  180_000,
);

test('a connection that PostgreSQL ends in mid-transaction is a failed attempt, and the next one writes the one row', async () => {
  const event = orderPaid();
  const gate = createGate();
  gates.set(event.id, gate);
  const handle = await harness.start(event);
  await gate.reached;
  const [ended] = await harness.sql(
    `SELECT count(pg_terminate_backend(pid))::int AS connections FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'idle in transaction'`,
  );
  expect(ended).toEqual({ connections: 1 });
  gate.open();
  expect((await resultOf(handle)).effects[0]).toMatchObject({ outcome: 'done', attempts: 2 });
  expect(await rowsOf(event.id)).toBe(1);
  const line = harness.lines.find(({ msg, eventKey }) => msg === 'effect.failed' && eventKey === handle.workflowId);
  expect(line).toMatchObject({ code: 'database_transient', permanent: false });
});

test.each([
  ['a serialization failure', '40001'],
  ['a deadlock', '40P01'],
])('%s is tried again', async (_what, state) => {
  const event = orderPaid();
  trouble.set(event.id, state);
  const handle = await harness.start(event);
  expect((await resultOf(handle)).effects[0]).toMatchObject({ outcome: 'done', attempts: 2 });
  expect(await rowsOf(event.id)).toBe(1);
});

test('two effects that PostgreSQL finds in a deadlock are both done in the end', async () => {
  const meeting = createGate();
  let arrived = 0;
  const take = (name: string, items: readonly [string, string]) =>
    shop.effect(name, {
      on: 'order.paid',
      businessKey: ({ data }) => `${name}:${data.order}`,
      retry: { initialInterval: 50 },
      commit: async ({ tx, attempt }) => {
        await tx.query('UPDATE stock SET left_over = left_over - 1 WHERE item = $1', [items[0]]);
        arrived += 1;
        if (arrived === 2) meeting.open();
        if (attempt === 1) await meeting.pass();
        await tx.query('UPDATE stock SET left_over = left_over - 1 WHERE item = $1', [items[1]]);
      },
    });
  const shopping = await createHarness({
    sources: [shop],
    effects: [take('one', ['a', 'b']), take('other', ['b', 'a'])],
  });
  try {
    await shopping.sql(
      "CREATE TABLE stock (item text PRIMARY KEY, left_over integer); INSERT INTO stock VALUES ('a', 9), ('b', 9)",
    );
    const result = await resultOf(await shopping.start(orderPaid({}, { effects: ['one', 'other'] })));
    expect(result.effects.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
    expect(result.effects.map(({ attempts }) => attempts).sort()).toEqual([1, 2]);
    expect(await shopping.sql('SELECT left_over FROM stock')).toEqual([{ left_over: 7 }, { left_over: 7 }]);
  } finally {
    await shopping.close();
  }
});

test('a worker that is stopped in order hands its attempt over without spending one', async () => {
  const stopping = await createHarness(
    { sources: [shop], effects: [shipOrder] },
    { setup: shipmentsTable, worker: false },
  );
  try {
    const worker = await stopping.worker();
    const event = orderPaid();
    const gate = createGate();
    gates.set(event.id, gate);
    const handle = await stopping.start(event);
    await gate.reached;
    await worker.stop();
    gates.delete(event.id);
    gate.open();
    await stopping.worker();
    expect((await resultOf(handle)).effects[0]).toMatchObject({ outcome: 'done', attempts: 1 });
    expect(await stopping.sql('SELECT 1 FROM shipments WHERE order_id = $1', [event.id])).toHaveLength(1);
  } finally {
    await stopping.close();
  }
});
