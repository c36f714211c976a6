import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { until } from './support/until.js';

/** Fourteen effects with long keys: more than ten, and together more than one attribute may hold. */
const many = Array.from({ length: 14 }, (_, index) =>
  shop.effect(`effect-${index}`, {
    on: 'order.paid',
    businessKey: ({ data }) => `${index}${data.key ?? ''}`,
    commit: async () => {},
    retry: { maximumAttempts: 2, initialInterval: 50 },
  }),
);
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => data.key as string,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});
const configuration = { sources: [shop], effects: [shipOrder, ...many] };
const names = many.map(({ name }) => name);

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness(configuration, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

test('a worker on a namespace without our search attributes sets none, and its events end', async () => {
  const namespace = `bare-${randomUUID()}`;
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 3600 as never },
  });
  await connection.close();
  const bare = await until('the namespace', () =>
    createHarness(configuration, { namespace, setup: shipmentsTable, worker: false }).catch(() => undefined),
  );
  try {
    await bare.worker();
    const handle = await until('a start', () => bare.start(orderPaid({ key: randomUUID() })).catch(() => undefined));
    expect((await resultOf(handle)).outcome).toBe('done');
    expect((await handle.describe()).searchAttributes).not.toHaveProperty('OnefoldState');
  } finally {
    await bare.close();
  }
});

test('a registered attribute shows the state and the business key', async () => {
  const key = `shipment:${randomUUID()}`;
  const handle = await harness.start(orderPaid({ key }));
  await resultOf(handle);
  const { searchAttributes } = await handle.describe();
  expect(searchAttributes).toMatchObject({ OnefoldState: ['done'], OnefoldBusinessKey: [key] });
});

test.each([
  ['512 bytes of four-byte characters', '🧾'.repeat(128)],
  ['512 bytes of letters', 'k'.repeat(512)],
])('a business key of %s is carried to its end and found again by its indexed form', async (_what, key) => {
  const event = orderPaid({ key });
  const handle = await harness.start(event);
  expect((await resultOf(handle)).effects[0]).toMatchObject({ outcome: 'done', businessKey: key });
  const [indexed] = (await handle.describe()).searchAttributes.OnefoldBusinessKey as string[];
  expect(Buffer.byteLength(indexed ?? '')).toBeLessThan(255);
  await harness.sql('DELETE FROM onefold.effects WHERE business_key = $1', [key]);
});

test('a business key of 513 bytes is a permanent failure in the dead letters', async () => {
  const event = orderPaid({ key: `${'🧾'.repeat(128)}!` });
  await expect((await harness.start(event)).result()).rejects.toThrow();
  const letters = await harness.sql('SELECT code, message FROM onefold.dead_letters WHERE event_id = $1', [event.id]);
  expect(letters).toMatchObject([{ code: 'business_key_invalid', message: expect.stringContaining('513') }]);
});

test.each([
  ['letters', 'k'],
  ['four-byte characters', '🧾'],
  ['control characters, six bytes each in JSON', '\u0001'],
  ['quotes and backslashes', '"\\'],
])('fourteen keys as long as keys may be, of %s, keep within the limits of the server', async (_what, unit) => {
  for (const bytes of [120, 510]) {
    const key = unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));
    const handle = await harness.start(orderPaid({ key }, { effects: names }));
    const result = await resultOf(handle);
    expect(result.effects).toHaveLength(14);
    expect(result.effects.every(({ outcome }) => outcome === 'done' || outcome === 'already_done')).toBe(true);
    expect((await handle.describe()).searchAttributes.OnefoldBusinessKey).toHaveLength(10);
  }
});
