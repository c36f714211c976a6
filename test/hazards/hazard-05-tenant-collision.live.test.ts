import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';

const failing = new Set<string>();
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { maximumAttempts: 1 },
  commit: async ({ event, tx }) => {
    if (failing.has(event.tenant)) throw new Error('the warehouse said no');
    await tx.query('INSERT INTO shipments (order_id, by_effect) VALUES ($1, $2)', [event.data.order, event.tenant]);
    return { tenant: event.tenant };
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

test('two tenants with one event id and one business key have two effects and two results', async () => {
  const event = orderPaid();
  for (const tenant of ['', 'a', 'b']) {
    const result = await resultOf(await harness.start({ ...event, tenant }));
    expect(result.effects[0]).toMatchObject({ outcome: 'done', result: { json: `{"tenant":"${tenant}"}` } });
  }
  const rows = await harness.sql('SELECT by_effect FROM shipments WHERE order_id = $1 ORDER BY 1', [event.id]);
  expect(rows).toEqual([{ by_effect: '' }, { by_effect: 'a' }, { by_effect: 'b' }]);
});

test("the id 'a/b' of no tenant is not the id 'b' of tenant 'a'", async () => {
  const event = orderPaid();
  await resultOf(await harness.start({ ...event, id: `a/${event.id}` }));
  expect((await resultOf(await harness.start({ ...event, tenant: 'a' }))).outcome).toBe('done');
});

test("one tenant's dead letter and its end leave the other's alone", async () => {
  const event = orderPaid();
  for (const tenant of ['c', 'd']) {
    failing.add(tenant);
    await expect((await harness.start({ ...event, tenant })).result()).rejects.toThrow();
  }
  failing.delete('c');
  await resultOf(await harness.start({ ...event, tenant: 'c' }));
  const letters = await harness.sql(
    'SELECT tenant, closed_at IS NULL AS open FROM onefold.dead_letters WHERE event_id = $1 ORDER BY tenant',
    [event.id],
  );
  expect(letters).toEqual([
    { tenant: 'c', open: false },
    { tenant: 'd', open: true },
  ]);
});
