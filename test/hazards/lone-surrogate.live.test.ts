import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';

// A message that quotes half of a surrogate pair, as a body can bring it or a cut can make it, is no UTF-8. Written into a
// failure it would end the worker that reports it, and the next one, and so on.
const messages = new Map<string, string>();
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  retry: { initialInterval: 20, maximumInterval: 50 },
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx, attempt }) => {
    const message = messages.get(event.data.order);
    if (message !== undefined && attempt < 3) throw new Error(message);
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

test.each([
  ['short', 'no \ud83d'],
  ['cut in the middle of a pair', `${'x'.repeat(492)}\u{1f600}\u{1f600}\u{1f600}\u{1f600}`],
  ['of nothing else', '\udc00'],
])(
  'an attempt that fails with a message of half a character, %s, is an ordinary failed attempt',
  async (_how, message) => {
    const event = orderPaid();
    messages.set(event.id, message);
    const result = await resultOf(await harness.start(event));
    expect(result.effects[0]).toMatchObject({ outcome: 'done', attempts: 3 });
  },
);
