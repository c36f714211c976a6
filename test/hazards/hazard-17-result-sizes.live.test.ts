import { afterAll, beforeAll, expect, test } from 'vitest';
import { readResult } from '../../src/ledger/read-result.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';

/** A JSON string of exactly so many bytes. */
const jsonOf = (bytes: number) => 'x'.repeat(bytes - 2);
const names = Array.from({ length: 24 }, (_, index) => `effect-${index}`);
const effects = names.map((name) =>
  shop.effect(name, {
    on: 'order.paid',
    businessKey: ({ data }) => `${name}:${data.order}`,
    retry: { maximumAttempts: 2, initialInterval: 50 },
    commit: async ({ event, tx }) => {
      await tx.query('INSERT INTO shipments (order_id, by_effect) VALUES ($1, $2)', [event.data.order, name]);
      return event.data.quotes
        ? '"'.repeat(((event.data.bytes as number) - 2) / 2)
        : jsonOf(event.data.bytes as number);
    },
  }),
);

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

const order = (bytes: number, count: number, more: object = {}) =>
  orderPaid({ bytes, ...more }, { effects: names.slice(0, count) });
const rowsOf = async (id: string) => (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).length;
const stored = (businessKey: string) =>
  readResult(harness.ledger.database.query, harness.ledger.schema, {
    tenant: '',
    effect: businessKey.slice(0, businessKey.indexOf(':')),
    businessKey,
  });

const kib = 1024;
test.each([64 * kib - 1, 64 * kib])('a result of %i bytes travels whole', async (bytes) => {
  const result = await resultOf(await harness.start(order(bytes, 1)));
  expect(result.effects[0]?.result).toEqual({ json: JSON.stringify(jsonOf(bytes)) });
});

test.each([64 * kib + 1, 1024 * kib])('a result of %i bytes stays in the ledger and is read there', async (bytes) => {
  const event = order(bytes, 1);
  const first = await resultOf(await harness.start(event));
  expect(first.effects[0]?.result).toEqual({ stored: true, bytes });
  expect(await stored(`effect-0:${event.id}`)).toHaveLength(bytes);
  const second = await resultOf(await harness.start(event));
  expect(second.effects[0]).toMatchObject({ outcome: 'already_done', result: { stored: true, bytes } });
});

test('a result beyond 1 MiB is refused with its size before the commit, so that nothing is written', async () => {
  const event = order(1024 * kib + 1, 1);
  await expect((await harness.start(event)).result()).rejects.toThrow();
  const [letter] = await harness.sql('SELECT code, message FROM onefold.dead_letters WHERE event_id = $1', [event.id]);
  expect(letter).toMatchObject({ code: 'result_too_large', message: expect.stringContaining(String(1024 * kib + 1)) });
  expect(await rowsOf(event.id)).toBe(0);
  expect(await harness.sql('SELECT 1 FROM onefold.effects WHERE business_key = $1', [`effect-0:${event.id}`])).toEqual(
    [],
  );
});

test.each([
  ['twenty-four results of 64 KiB', 64 * kib, {}],
  ['twenty-four results of 64 KiB, doubled by escapes', 64 * kib, { quotes: true }],
  ['twenty-four results of 1 MiB', 1024 * kib, {}],
])('%s joined do not keep the event from its end, now or when started again', async (_what, bytes, more) => {
  const event = order(bytes, 24, more);
  for (const outcome of ['done', 'already_done']) {
    const result = await resultOf(await harness.start(event));
    expect(result.effects.map((end) => end.outcome)).toEqual(names.map(() => outcome));
    for (const { result: one, businessKey } of result.effects) {
      const json = one && 'json' in one ? one.json : await stored(businessKey ?? '');
      expect(Buffer.byteLength(json ?? '')).toBe(bytes);
    }
  }
  expect(await rowsOf(event.id)).toBe(24);
});
