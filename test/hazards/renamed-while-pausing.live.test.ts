import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { until } from './support/until.js';

// Hazard 7: an event that pauses was planned under the old name, and is carried on by workers that know the new one.
let failing = true;
const declare = (name: string, formerly: string[]) =>
  shop.effect(name, {
    on: 'order.paid',
    formerly,
    retry: { initialInterval: '1 hour', maximumAttempts: 3 },
    businessKey: ({ data }) => `shipment:${data.order}`,
    commit: async ({ event, tx }) => {
      if (failing) throw new Error('the warehouse said no');
      await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
      return { order: event.data.order };
    },
  });

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness(
    { sources: [shop], effects: [declare('ship-order', [])] },
    { setup: shipmentsTable, worker: false },
  );
});
afterAll(() => harness?.close());

test('an effect that is renamed while its event pauses is done once, in the next attempt', async () => {
  const event = { ...orderPaid(), effects: ['ship-order'] };
  const old = await harness.worker();
  const handle = await harness.start(event);
  await until('the first failure', () => harness.lines.some(({ msg }) => msg === 'effect.failed'));
  await old.stop();
  failing = false;
  await harness.worker({ sources: [shop], effects: [declare('dispatch-order', ['ship-order'])] });
  await handle.signal('retryNow');
  expect(await resultOf(handle)).toMatchObject({
    outcome: 'done',
    effects: [
      { effect: 'ship-order', outcome: 'done', attempts: 2, result: { json: JSON.stringify({ order: event.id }) } },
    ],
  });
  expect(await harness.sql('SELECT 1 FROM shipments')).toHaveLength(1);
});
