import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { parse } from 'lossless-json';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { buildEvent } from '../../src/effects/build-event.js';
import { type AttemptEnd, carryLocalAttempt } from '../../src/effects/carry-local-attempt.js';
import type { CommitContext } from '../../src/effects/effect.js';
import { PermanentError } from '../../src/effects/errors.js';
import { businessKey } from '../../src/identity/business-identity.js';
import { createGate } from '../hazards/support/gate.js';
import { shipmentsTable, shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
let order: string;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false, setup: shipmentsTable });
});
afterAll(() => harness?.close());
beforeEach(() => {
  order = randomUUID();
});

/** Carries one attempt without Temporal and HTTP, of which it knows nothing. */
async function attempt(
  commit: (context: CommitContext<{ data: unknown }>) => Promise<unknown>,
  given: { id?: string; data?: object; signal?: AbortSignal; timeout?: number } = {},
): Promise<AttemptEnd> {
  const effect = shop.effect('ship-order', {
    on: 'order.paid',
    businessKey: () => order,
    timeout: given.timeout ?? 5000,
    commit: commit as never,
  });
  const id = given.id ?? randomUUID();
  const body = JSON.stringify({ type: 'order.paid', data: given.data ?? { order } });
  const envelope = { tenant: '', id, type: 'order.paid', receivedAt: new Date().toISOString() };
  return carryLocalAttempt(harness.ledger, {
    effect,
    ...(await buildEvent(shop, envelope, body)),
    eventKey: `event//shop/${id}`,
    businessKey: businessKey(order),
    attempt: 1,
    owner: randomUUID(),
    timeoutMs: effect.policy.timeoutMs,
    signal: given.signal ?? new AbortController().signal,
  });
}
const ship = async ({ tx }: CommitContext<unknown>) => {
  await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [order]);
  return { shipped: order };
};
const left = async () => ({
  rows: (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length,
  ledger: (await harness.sql('SELECT state FROM onefold.effects WHERE business_key = $1', [order])).map(
    ({ state }) => state,
  ),
});
const nothing = { rows: 0, ledger: [] };
const once = { rows: 1, ledger: ['done'] };

test('claim, write and completion are there together', async () => {
  expect(await attempt(ship)).toEqual({ outcome: 'done', fence: 1, result: { json: `{"shipped":"${order}"}` } });
  expect(await left()).toEqual(once);
});

test.each<[string, (context: CommitContext<unknown>) => Promise<unknown>, object]>([
  ['an error', async () => Promise.reject(new Error('no')), { message: 'no' }],
  [
    'an error thrown at once',
    () => {
      throw new Error('no');
    },
    { message: 'no' },
  ],
  [
    'a permanent error',
    async () => {
      throw new PermanentError('never');
    },
    { message: 'never' },
  ],
  ['an error of PostgreSQL', ({ tx }) => tx.query('SELECT 1/0'), { code: '22012' }],
  [
    'a swallowed error of PostgreSQL',
    ({ tx }) => tx.query('SELECT 1/0').catch(() => 'fine'),
    { code: 'transaction_aborted' },
  ],
  ['a result that is no JSON', async () => new Date(), { code: 'result_not_json' }],
  ['a result that is too large', async () => 'x'.repeat(2 ** 20), { code: 'result_too_large' }],
  ['a COMMIT of its own', ({ tx }) => tx.query('COMMIT'), { code: 'transaction_split' }],
  ['a statement that takes too long', ({ tx }) => tx.query('SELECT pg_sleep(3)'), { code: '57014' }],
])('after %s nothing is there, and the next attempt does it', async (_what, misdeed, error) => {
  const broken = (context: CommitContext<unknown>) => ship(context).then(() => misdeed(context));
  await expect(attempt(broken, { timeout: 500 })).rejects.toMatchObject(error);
  expect(await left()).toEqual(nothing);
  expect(await attempt(ship)).toMatchObject({ outcome: 'done' });
  expect(await left()).toEqual(once);
});

test('an attempt that is told to stop fails with that reason, and nothing is there', async () => {
  const stop = new AbortController();
  const gate = createGate();
  const stopped = expect(
    attempt((context) => ship(context).then(() => gate.pass()), { signal: stop.signal }),
  ).rejects.toThrow('told to stop');
  await gate.reached;
  stop.abort(new Error('told to stop'));
  await stopped;
  gate.open();
  expect(await attempt(ship)).toMatchObject({ outcome: 'done' });
  expect(await left()).toEqual(once);
});

test('while another transaction holds the key, an attempt gives its slot back within a second or so', async () => {
  const gate = createGate();
  const holder = attempt((context) => gate.pass().then(() => ship(context)));
  await gate.reached;
  const began = Date.now();
  await expect(attempt(ship)).rejects.toMatchObject({ code: 'claim_waiting' });
  expect(Date.now() - began).toBeLessThan(2000);
  gate.open();
  await holder;
  expect(await attempt(ship)).toMatchObject({ outcome: 'already_done' });
  expect(await left()).toEqual(once);
});

test('a transaction that sits idle for longer than the timeout loses the key', async () => {
  const gate = createGate();
  const idle = expect(attempt((context) => gate.pass().then(() => ship(context)), { timeout: 300 })).rejects.toThrow();
  await gate.reached;
  expect(await attempt(ship)).toMatchObject({ outcome: 'done' });
  gate.open();
  await idle;
  expect(await left()).toEqual(once);
});

test('another event with the same data finds it done; one with other data is told so', async () => {
  await attempt(ship, { id: 'first' });
  const doneBy = 'shop/first';
  const same = await attempt(ship, { id: 'second' });
  expect(same).toEqual({ outcome: 'already_done', fence: 1, result: { json: `{"shipped":"${order}"}` }, doneBy });
  const other = await attempt(ship, { id: 'third', data: { order, amount: 7 } });
  expect(other).toMatchObject({ outcome: 'already_done', doneBy, otherData: true });
  expect(await left()).toEqual(once);
});

test('the order of keys in the data is no difference', async () => {
  await attempt(ship, { id: 'first', data: { order, a: [1, { b: 2, c: 3 }] } });
  expect(await attempt(ship, { id: 'second', data: { a: [1, { c: 3, b: 2 }], order } })).not.toHaveProperty(
    'otherData',
  );
});

test('an event that finds its own completion, since an answer was lost, is done and not already_done', async () => {
  await attempt(ship, { id: 'mine' });
  const again = await attempt(ship, { id: 'mine' });
  expect(again).toEqual({ outcome: 'done', fence: 1, result: { json: `{"shipped":"${order}"}` } });
});

test('any JSON value comes back without loss', async () => {
  const value = fc.oneof(fc.jsonValue({ stringUnit: 'binary' }), fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }));
  await fc.assert(
    fc.asyncProperty(value, async (result) => {
      order = randomUUID();
      const first = await attempt(async () => result);
      const second = await attempt(async () => 'another');
      expect(second.result).toEqual(first.result);
      const json = second.result && 'json' in second.result ? second.result.json : '';
      if (typeof result === 'bigint') expect(String(parse(json))).toBe(String(result));
      else expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(result)));
    }),
    { numRuns: 60 },
  );
});
