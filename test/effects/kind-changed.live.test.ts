import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { orderPaid, shipmentsTable, shop } from '../hazards/support/shop.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';

/** A local write that was an external effect before this deploy. */
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { initialInterval: 50, maximumAttempts: 2 },
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable });
});
afterAll(() => harness.close());

/** What the external effect left. */
async function left(state: string): Promise<string> {
  const order = randomUUID();
  await harness.sql(
    `INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest, lease_until)
     VALUES ('', 'ship-order', $1, $2, 3, $3, 'event//shop/1', 'shop/1', '', CASE WHEN $2 = 'unknown' THEN now() END)`,
    [`shipment:${order}`, state, randomUUID()],
  );
  return order;
}
const rows = async (order: string) =>
  (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length;

test('a call that proved that nothing was done leaves its key free for the local write', async () => {
  const order = await left('released');
  const result = await resultOf(await harness.start(orderPaid({ order })));
  expect(result).toMatchObject({ outcome: 'done', effects: [{ fence: 4 }] });
  expect(await rows(order)).toBe(1);
});

test('a call whose outcome is unknown is not written over: a person has to say what became of it', async () => {
  const order = await left('unknown');
  await expect(resultOf(await harness.start(orderPaid({ order })))).rejects.toMatchObject({
    cause: { type: 'claim_without_completion', message: expect.stringContaining('onefold resolve') },
  });
  expect(await rows(order)).toBe(0);
});
