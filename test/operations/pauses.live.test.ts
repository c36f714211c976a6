import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { reconcile } from '../../src/effects/recovery.js';
import { operationsContext } from '../../src/operations/context.js';
import { measurePaused } from '../../src/operations/pauses/measure-paused.js';
import type { PausableName } from '../../src/operations/pauses/read-pausable.js';
import { createGate, type Gate } from '../hazards/support/gate.js';
import { shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from './support/stage.js';

/** Moments at which attempts began, by order. */
const begun = new Map<string, number[]>();
const called = new Map<string, number>();
const gates = new Map<string, Gate>();
const failing = new Set<string>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  // A budget that a pause of seconds would end if it counted.
  retry: { initialInterval: 100, maximumAttempts: 2, maximumElapsed: '2 seconds' },
  formerly: ['send-order'],
  commit: async ({ event, tx }) => {
    const { order } = event.data;
    begun.set(order, [...(begun.get(order) ?? []), Date.now()]);
    await gates.get(order)?.pass();
    if (failing.has(order)) throw new Error('the warehouse said no');
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [order]);
  },
});
const charge = shop.externalEffect('charge', {
  on: 'order.refunded',
  businessKey: ({ data }) => `charge:${data.order}`,
  perform: async ({ event }) => {
    called.set(event.data.order, (called.get(event.data.order) ?? 0) + 1);
    return { refund: event.data.order };
  },
  recovery: reconcile(async () => 'absent'),
});

const bob = { by: 'bob', reason: 'the warehouse is flooded' };

let stage: Stage;
let app: Deployed;
let id: string;

beforeAll(async () => {
  stage = await createStage({ setup: 'CREATE TABLE shipments (id serial PRIMARY KEY, order_id text NOT NULL)' });
  app = stage.deploy([shipOrder, charge]);
  await app.startWorker();
});
afterAll(() => stage?.close());
beforeEach(() => {
  id = randomUUID();
});
afterEach(() => stage.sql('DELETE FROM onefold.pauses'));

const keyOf = (order: string) => `event//shop/${order}`;
const resultOf = (order: string) => stage.client.workflow.getHandle(keyOf(order)).result();
const shipments = async (order: string) =>
  (await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length;
const statusOf = (order: string) =>
  stage.client.workflow
    .getHandle(keyOf(order))
    .query<any>('status')
    .then(({ effects }) => effects[0]);
const waiting = (order: string) =>
  until('the wait', async () => {
    const status = await statusOf(order).catch(() => undefined);
    return status?.phase === 'waiting' && status;
  });
const refund = async (order: string) => {
  const body = Buffer.from(JSON.stringify({ type: 'order.refunded', data: { order } }));
  const headers = shop.preset.sign({ body, id: order, type: 'order.refunded', now: new Date() });
  await app.onefold.fetch(new Request('http://receiver.example/webhooks/shop', { method: 'POST', headers, body }));
};

test('an event that meets a pause waits, spends neither attempts nor time, and goes on at once when it is resumed', async () => {
  const paused = await app.onefold.pause({ effect: 'ship-order' }, bob);
  expect(paused).toMatchObject({ kind: 'effect', name: 'ship-order', outcome: 'paused', waiting: 0 });
  expect((await app.deliver(id)).status).toBe(202);
  const status = await waiting(id);
  expect(status).toMatchObject({ attempts: 0, lastFailure: { code: 'effect_paused' } });
  expect(Date.parse(status.nextTryAt) - Date.now()).toBeGreaterThan(10_000);
  // Longer than its elapsed time allows.
  await new Promise((over) => setTimeout(over, 2_500));
  expect(await app.onefold.paused()).toMatchObject([
    { kind: 'effect', name: 'ship-order', by: 'bob', reason: bob.reason, waiting: 1, since: expect.any(Date) },
  ]);
  await measurePaused(app.onefold[operationsContext]);
  const scraped = () => app.onefold.metrics.registry.metrics();
  expect(await scraped()).toContain('onefold_paused{kind="effect",name="send-order"} 1');
  // One attempt fails after the pause; the budget still has its second.
  failing.add(id);
  const began = Date.now();
  const resumed = await app.onefold.resume({ effect: 'ship-order' }, { ...bob, reason: 'dry again' });
  expect(resumed).toMatchObject({ outcome: 'resumed', told: 1, gone: 0, stillPaused: [], before: { by: 'bob' } });
  await until('the first attempt', () => begun.get(id)?.length === 1);
  failing.delete(id);
  expect(await resultOf(id)).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
  expect(Date.now() - began).toBeLessThan(8_000);
  await measurePaused(app.onefold[operationsContext]);
  expect(await scraped()).not.toMatch(/onefold_paused\{/);
  expect(await shipments(id)).toBe(1);
  expect(
    await stage.sql(`SELECT kind, actor, outcome FROM onefold.acts WHERE event_key = 'effect/send-order' ORDER BY at`),
  ).toEqual([
    { kind: 'pause', actor: 'bob', outcome: 'paused' },
    { kind: 'resume', actor: 'bob', outcome: 'resumed' },
  ]);
});

test('no attempt begins after a pause was committed, under load, and each event is done once when it is resumed', async () => {
  const orders = Array.from({ length: 60 }, () => randomUUID());
  const delivering = Promise.all(orders.map((order) => app.deliver(order)));
  await until('some attempts', () => orders.some((order) => begun.has(order)));
  await app.onefold.pause({ effect: 'ship-order' }, bob);
  const committed = Date.now();
  await delivering;
  await until('the rest to wait', async () => {
    const open = await stage.sql(`SELECT 1 FROM onefold.events WHERE state = 'open'`);
    const done = await stage.sql(`SELECT 1 FROM onefold.events WHERE state = 'done' AND event_id = ANY($1)`, [orders]);
    return open.length + done.length >= orders.length;
  });
  await new Promise((over) => setTimeout(over, 1_000));
  const late = orders.flatMap((order) => begun.get(order) ?? []).filter((at) => at > committed + 50);
  expect(late).toEqual([]);
  expect(orders.some((order) => !begun.has(order))).toBe(true);
  expect(await app.onefold.resume({ effect: 'ship-order' }, bob)).toMatchObject({ outcome: 'resumed' });
  await Promise.all(orders.map(resultOf));
  for (const order of orders) expect(await shipments(order)).toBe(1);
  expect(orders.flatMap((order) => begun.get(order) ?? [])).toHaveLength(orders.length);
});

test('an attempt that runs when the pause comes goes on to its end', async () => {
  const gate = createGate();
  gates.set(id, gate);
  await app.deliver(id);
  await gate.reached;
  expect(await app.onefold.pause({ effect: 'ship-order' }, bob)).toMatchObject({ waiting: 1 });
  gate.open();
  expect(await resultOf(id)).toMatchObject({ outcome: 'done' });
});

test('a paused source holds each of its effects, of both kinds', async () => {
  await app.onefold.pause({ source: 'shop' }, bob);
  const other = randomUUID();
  await Promise.all([app.deliver(id), refund(other)]);
  await Promise.all([waiting(id), waiting(other)]);
  expect(called.has(other)).toBe(false);
  expect(await app.onefold.pause({ effect: 'charge' }, bob)).toMatchObject({ waiting: 1 });
  const resumed = await app.onefold.resume({ source: 'shop' }, bob);
  expect(resumed).toMatchObject({ outcome: 'resumed', told: 2, stillPaused: [{ kind: 'effect', name: 'charge' }] });
  await resultOf(id);
  expect(called.has(other)).toBe(false);
  await app.onefold.resume({ effect: 'charge' }, bob);
  expect(await resultOf(other)).toMatchObject({ outcome: 'done', effects: [{ attempts: 1 }] });
  expect(called.get(other)).toBe(1);
});

test('a pause of one tenant does not touch events of another, or of none', async () => {
  await app.onefold.pause({ effect: 'ship-order', tenant: 'acme' }, bob);
  await app.deliver(id);
  expect(await resultOf(id)).toMatchObject({ outcome: 'done' });
  const other = randomUUID();
  await app.onefold.pause({ effect: 'ship-order', tenant: '' }, bob);
  await app.deliver(other);
  await waiting(other);
  const resumed = await app.onefold.resume({ effect: 'ship-order', tenant: '' }, bob);
  expect(resumed).toMatchObject({ told: 1, stillPaused: [] });
  await resultOf(other);
});

test('resuming ends no backoff, since whoever fails waits for something else', async () => {
  failing.add(id);
  const slow = shop.effect('slow', {
    on: 'order.paid',
    businessKey: ({ data }) => `slow:${data.order}`,
    retry: { initialInterval: '10 minutes', maximumAttempts: 3 },
    commit: async ({ event }) => {
      begun.set(`slow:${event.data.order}`, [...(begun.get(`slow:${event.data.order}`) ?? []), Date.now()]);
      throw new Error('the warehouse said no');
    },
  });
  await app.stopWorker();
  const next = stage.deploy([slow, charge]);
  await next.startWorker();
  try {
    await next.deliver(id);
    await until('the first attempt', () => begun.get(`slow:${id}`)?.length === 1);
    await until('the backoff', async () => (await statusOf(id)).phase === 'pausing');
    await next.onefold.pause({ effect: 'slow' }, bob);
    expect(await next.onefold.resume({ effect: 'slow' }, bob)).toMatchObject({ told: 1 });
    await new Promise((over) => setTimeout(over, 1_000));
    expect(await statusOf(id)).toMatchObject({ phase: 'pausing', attempts: 1 });
    const retried = await next.onefold.retryNow(`shop/${id}`, { ...bob, effect: 'slow' });
    expect(retried).toMatchObject({ outcome: 'told', found: [{ effect: 'slow', phase: 'pausing', attempts: 1 }] });
    await until('the second attempt', () => begun.get(`slow:${id}`)?.length === 2);
    expect(await next.onefold.retryManyNow({ effect: 'slow' }, bob)).toMatchObject({
      outcome: 'told',
      told: 1,
      found: 1,
    });
    await until('the third attempt', () => begun.get(`slow:${id}`)?.length === 3);
    await resultOf(id).catch(() => {});
    const refused = next.onefold.retryNow(`shop/${id}`, bob);
    await expect(refused).rejects.toMatchObject({
      code: 'retry_refused',
      message: expect.stringContaining('onefold replay'),
    });
  } finally {
    failing.delete(id);
    await next.stopWorker();
    await app.startWorker();
  }
});

test('pausing what is paused says who has paused it, and repeating a wish changes nothing', async () => {
  const of: PausableName = { effect: 'send-order' };
  const first = await app.onefold.pause(of, { ...bob, id: `${id}-1` });
  expect(first).toMatchObject({ name: 'ship-order', outcome: 'paused' });
  const second = await app.onefold.pause(of, { by: 'eve', reason: 'fire too', id: `${id}-2` });
  expect(second).toMatchObject({ outcome: 'already_paused', before: { by: 'bob', reason: bob.reason } });
  expect(await app.onefold.paused()).toMatchObject([{ by: 'eve', reason: 'fire too', id: `${id}-2` }]);
  expect(await app.onefold.pause(of, { ...bob, id: `${id}-1` })).toMatchObject({ outcome: 'paused' });
  expect(await app.onefold.paused()).toMatchObject([{ by: 'eve' }]);
  await app.onefold.resume(of, { ...bob, id: `${id}-3` });
  expect(await app.onefold.pause(of, { ...bob, id: `${id}-1` })).toMatchObject({ outcome: 'superseded' });
  expect(await app.onefold.paused()).toEqual([]);
  expect(await app.onefold.resume(of, { ...bob, id: `${id}-3` })).toMatchObject({ outcome: 'resumed', told: 0 });
  expect(await app.onefold.resume(of, bob)).toMatchObject({ outcome: 'not_paused' });
  await expect(app.onefold.resume(of, { ...bob, id: `${id}-1` })).rejects.toMatchObject({ code: 'pause_refused' });
});

test('unknown names are refused with the known ones, and what no configuration has any more can be resumed', async () => {
  await expect(app.onefold.pause({ effect: 'shp-order' }, bob)).rejects.toMatchObject({
    code: 'pause_refused',
    message: expect.stringContaining("'ship-order', 'charge'"),
  });
  await expect(app.onefold.pause({ source: 'shp' }, bob)).rejects.toMatchObject({ code: 'pause_refused' });
  await expect(app.onefold.pause({ effect: 'charge' }, { ...bob, reason: ' ' })).rejects.toMatchObject({
    code: 'pause_refused',
  });
  await stage.sql(
    `INSERT INTO onefold.pauses (kind, name, tenant, every_tenant, act, actor, reason) VALUES ('effect', 'gone', '', true, 'a', 'b', 'c')`,
  );
  expect(await app.onefold.resume({ effect: 'gone' }, bob)).toMatchObject({ outcome: 'resumed' });
});
