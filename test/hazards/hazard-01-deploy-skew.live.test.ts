import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { nudged } from './support/nudged.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { until } from './support/until.js';

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query("INSERT INTO shipments (order_id, by_effect) VALUES ($1, 'ship-order')", [event.data.order]);
  },
});
const thankCustomer = shop.effect('thank-customer', {
  on: ['order.paid', 'order.refunded'],
  businessKey: ({ data }) => `thanks:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query("INSERT INTO shipments (order_id, by_effect) VALUES ($1, 'thank-customer')", [event.data.order]);
  },
});
const thankPayersOnly = shop.effect('thank-customer', {
  on: 'order.paid',
  businessKey: ({ data }) => `thanks:${data.order}`,
  commit: async () => {},
});
const before = { sources: [shop], effects: [shipOrder] };
const after = { sources: [shop], effects: [shipOrder, thankCustomer] };

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness(before, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

const effectsOf = async (order: string) =>
  (
    await harness.sql<{ by_effect: string }>('SELECT by_effect FROM shipments WHERE order_id = $1 ORDER BY 1', [order])
  ).map((row) => row.by_effect);
const waits = async () => (await harness.metrics.planningWaits.get()).values[0]?.value ?? 0;

test('an event with an effect that the worker lacks waits, uncounted and seen, for a worker that has it', async () => {
  const event = orderPaid({}, { effects: ['ship-order', 'thank-customer'] });
  const waitsBefore = await waits();
  const handle = await harness.start(event);
  await until('a second wait', async () => (await waits()) >= waitsBefore + 2);
  const line = harness.lines.find(({ msg, eventKey }) => msg === 'webhook.waiting' && eventKey === harness.key(event));
  expect(line).toMatchObject({ level: 'warn', code: 'effect_unknown', effects: ['thank-customer'] });
  expect(await effectsOf(event.id)).toEqual([]);

  const newer = await harness.worker(after);
  const result = await nudged([handle], () => resultOf(handle));
  expect(result.effects.map(({ effect, outcome, attempts }) => ({ effect, outcome, attempts }))).toEqual([
    { effect: 'ship-order', outcome: 'done', attempts: 1 },
    { effect: 'thank-customer', outcome: 'done', attempts: 1 },
  ]);
  expect(await effectsOf(event.id)).toEqual(['ship-order', 'thank-customer']);
  await newer.stop();
});

test('old and new workers side by side: every event has all its effects, each once', async () => {
  const newer = await harness.worker(after);
  const events = Array.from({ length: 8 }, () => orderPaid({}, { effects: ['ship-order', 'thank-customer'] }));
  const handles = await Promise.all(events.map((event) => harness.start(event)));
  const results = await nudged(handles, () => Promise.all(handles.map(resultOf)));
  // `already_done` by itself: where a worker was too slow to report a first attempt, the ledger answered the second.
  for (const { event, effects } of results) {
    for (const { outcome, doneBy } of effects)
      expect([outcome, doneBy ?? event]).toEqual([expect.stringMatching(/done$/), event]);
  }
  for (const event of events) expect(await effectsOf(event.id)).toEqual(['ship-order', 'thank-customer']);
  await newer.stop();
});

test('an old worker that knows the effect but not for this type waits too', async () => {
  const old = await createHarness({ sources: [shop], effects: [thankPayersOnly] }, { setup: shipmentsTable });
  try {
    const event = orderPaid({}, { type: 'order.refunded', effects: ['thank-customer'] });
    const handle = await old.start(event);
    await until('the wait', () => old.lines.some(({ msg }) => msg === 'webhook.waiting'));
    expect((await handle.describe()).status.name).toBe('RUNNING');
    expect(await old.sql('SELECT 1 FROM onefold.dead_letters')).toEqual([]);
  } finally {
    await old.close();
  }
});

test('an event that names no effect never completes', async () => {
  const event = orderPaid({}, { effects: [] });
  await expect((await harness.start(event)).result()).rejects.toThrow();
  const letters = await harness.sql('SELECT code FROM onefold.dead_letters WHERE event_key = $1', [harness.key(event)]);
  expect(letters).toEqual([{ code: 'input_malformed' }]);
});
