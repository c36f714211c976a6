import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { NotDoneError, NotYetError } from '../../src/effects/errors.js';
import { httpFailure } from '../../src/effects/http-failure.js';
import { forwardsKey, park, reconcile } from '../../src/effects/recovery.js';
import { attemptSteps, type Recipient, startRecipient, startTestKit, type TestKit } from '../../src/testing/index.js';
import { shop } from '../hazards/support/shop.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

let database: TestDatabase;
let kit: TestKit;
let bank: Recipient;
/** What the next calls of an effect throw. */
let next: Error[];

const perform = async ({
  businessKey,
  idempotencyKey,
  signal,
}: {
  businessKey: string;
  idempotencyKey: string;
  signal: AbortSignal;
}) => {
  const failure = next.shift();
  if (failure) throw failure;
  const response = await fetch(`${bank.url}/charges`, {
    method: 'POST',
    headers: { 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ businessKey }),
    signal,
  });
  if (!response.ok) throw httpFailure(response);
  return (await response.json()) as { id: string };
};
const ask = async ({ idempotencyKey }: { idempotencyKey: string }) => {
  const response = await fetch(`${bank.url}/charges`, { headers: { 'idempotency-key': idempotencyKey } });
  return response.ok ? { done: (await response.json()) as { id: string } } : ('absent' as const);
};
const charge = shop.externalEffect('charge', {
  on: 'order.paid',
  businessKey: ({ data }) => `charge:${data.order}`,
  retry: { maximumAttempts: 4 },
  recovery: forwardsKey({ validFor: '24 hours' }),
  perform,
});
const asking = shop.externalEffect('asking', {
  on: 'order.refunded',
  businessKey: ({ data }) => `refund:${data.order}`,
  recovery: reconcile(ask),
  perform,
});
const ship = shop.effect('ship', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
    return { order: event.data.order };
  },
});
const letter = shop.externalEffect('letter', {
  on: 'order.refunded',
  businessKey: ({ data }) => `letter:${data.order}`,
  recovery: park(),
  parkedAtMost: '10 days',
  perform,
});

beforeAll(async () => {
  database = await createTestDatabase();
  bank = await startRecipient();
  kit = await startTestKit({
    sources: [shop],
    effects: [charge, asking, ship, letter],
    url: database.url,
    setup: 'CREATE TABLE shipments (order_id text NOT NULL)',
    timeSkippingServer: inject('timeSkippingServer'),
  });
});
afterAll(async () => {
  await kit?.stop();
  await bank?.stop();
  await database?.drop();
});
beforeEach(() => {
  next = [];
});
const paid = (order: string = randomUUID()) => kit.event(shop, { type: 'order.paid', data: { order } });
const refunded = (order: string = randomUUID()) => kit.event(shop, { type: 'order.refunded', data: { order } });
const charges = (businessKey: string) => bank.effects.filter(({ body }) => body.businessKey === businessKey).length;
const shipments = async (order: string) =>
  (await kit.db.query('SELECT 1 FROM shipments WHERE order_id = $1', [order])).rowCount;

test('an event is delivered, signed, and its effects are done', async () => {
  const order = randomUUID();
  const event = paid(order);
  expect(await event.deliver()).toMatchObject({ status: 202, path: 'first_run', body: { event: event.event } });
  expect(await event.outcome()).toMatchObject({
    outcome: 'done',
    effects: [
      {
        effect: 'charge',
        businessKey: `charge:${order}`,
        outcome: 'done',
        attempts: 1,
        result: { id: expect.any(String) },
      },
      { effect: 'ship', businessKey: `shipment:${order}`, outcome: 'done', attempts: 1, result: { order } },
    ],
  });
  expect(await event.deliver()).toMatchObject({
    status: 200,
    path: 'duplicate_done',
    body: { result: { ship: { order } } },
  });
  await kit.expectOnce(charge, `charge:${order}`, () => charges(`charge:${order}`));
  await kit.expectOnce(ship, `shipment:${order}`, () => shipments(order));
});

test('of many deliveries at once one starts the event', async () => {
  const event = paid();
  const paths = (await event.deliverAtOnce(5)).map(({ path }) => path);
  expect(paths.filter((path) => path === 'first_run')).toHaveLength(1);
  expect(await event.outcome()).toMatchObject({ outcome: 'done' });
});

test('the days of a backoff are skipped', async () => {
  const began = Date.now();
  next = [new NotDoneError('busy', { retryAfter: '2 days' }), new NotYetError('20 hours')];
  expect(await paid().deliver()).toMatchObject({ status: 202 });
  const event = refunded();
  next.push(new NotDoneError('busy', { retryAfter: '2 days' }));
  await event.deliver();
  expect(await event.outcome()).toMatchObject({ outcome: 'done' });
  expect(Date.now() - began).toBeLessThan(20_000);
  next = [];
});

test.each(attemptSteps)(
  'a worker that dies %s of a call leaves one effect, without a wait for its lease',
  async (at) => {
    const order = randomUUID();
    kit.crash(charge, { at, attempt: 1 });
    const event = paid(order);
    await event.deliver();
    expect(await event.outcome()).toMatchObject({ outcome: 'done', effects: [{ effect: 'charge', attempts: 2 }, {}] });
    await kit.expectOnce(charge, `charge:${order}`, () => charges(`charge:${order}`));
  },
);

test.each(attemptSteps.slice(0, -1))('a worker that dies %s of a local write leaves one row', async (at) => {
  const order = randomUUID();
  kit.crash(ship, { at, businessKey: `shipment:${order}` });
  const event = paid(order);
  await event.deliver();
  expect(await event.outcome()).toMatchObject({ outcome: 'done' });
  await kit.expectOnce(ship, `shipment:${order}`, () => shipments(order));
});

test('an answer of absent counts once the time to settle has been skipped', async () => {
  const order = randomUUID();
  kit.crash(asking, { at: 'before_call' });
  const event = refunded(order);
  await event.deliver();
  expect(await event.outcome()).toMatchObject({ outcome: 'done', effects: [{ effect: 'asking', attempts: 2 }, {}] });
  await kit.expectOnce(asking, `refund:${order}`, () => charges(`refund:${order}`));
  expect(kit.lines.filter(({ code }) => code === 'outcome_settling').length).toBeGreaterThan(0);
});

test('a recipient that acts and answers 500 is asked, and not asked to act again', async () => {
  const order = randomUUID();
  bank.next({ reply: 500, where: ({ body }) => body.businessKey === `refund:${order}` });
  const event = refunded(order);
  await event.deliver();
  expect(await event.outcome()).toMatchObject({ outcome: 'done' });
  await kit.expectOnce(asking, `refund:${order}`, () => charges(`refund:${order}`));
  expect(kit.calls.filter(({ businessKey }) => businessKey === `refund:${order}`)).toHaveLength(1);
});

test('a parked event is said to be parked, and ends once it is resolved', async () => {
  const order = randomUUID();
  kit.crash(letter, { at: 'after_call' });
  const event = refunded(order);
  await event.deliver();
  expect(await event.outcome()).toMatchObject({
    outcome: 'parked',
    effects: [
      { effect: 'asking', outcome: 'done' },
      { effect: 'letter', outcome: 'parked', code: 'effect_parked' },
    ],
  });
  await expect(kit.expectOnce(letter, `letter:${order}`)).rejects.toThrow(
    /'letter' under "letter:.*" is not done: the ledger has it as parked\.\n {2}called for shop\/.*attempt 1, with onefold-.*\n {2}test.crash attempt 1: after_call .*\n {2}effect.parked attempt 2/s,
  );
  await kit.resolve(letter, `letter:${order}`, { outcome: 'done', result: { id: 'by hand' } });
  expect(await event.outcome()).toMatchObject({
    outcome: 'done',
    effects: [{}, { effect: 'letter', outcome: 'done', result: { id: 'by hand' } }],
  });
});

test('a dead letter says why, a replay carries what is missing, and what is done stays done', async () => {
  const order = randomUUID();
  next = Array.from({ length: 4 }, () => new NotDoneError('busy'));
  const event = paid(order);
  await event.deliver();
  expect(await event.outcome()).toMatchObject({
    outcome: 'dead_lettered',
    code: 'budget_spent',
    effects: [
      { effect: 'charge', outcome: 'failed', attempts: 4 },
      { effect: 'ship', outcome: 'done' },
    ],
  });
  expect(await event.replay()).toMatchObject({ outcome: 'started' });
  expect(await event.outcome()).toMatchObject({ outcome: 'done' });
  await kit.expectOnce(ship, `shipment:${order}`, () => shipments(order));
});

test('a terminated event is taken up by a redelivery', async () => {
  const order = randomUUID();
  next = [new NotDoneError('busy', { retryAfter: '1 hour' })];
  const event = paid(order);
  await event.deliver();
  await event.terminate();
  expect(await event.outcome()).toEqual({ outcome: 'terminated', effects: [] });
  expect(await event.deliver()).toMatchObject({ path: 'retry_after_failure' });
  expect(await event.outcome()).toMatchObject({ outcome: 'done' });
  await kit.expectOnce(charge, `charge:${order}`, () => charges(`charge:${order}`));
});

test('an attempt whose lease was lost comes back as a zombie, and writes nothing', async () => {
  const order = randomUUID();
  bank.next({ reply: { afterMs: 1500 } });
  const first = paid(order);
  await first.deliver();
  await expect.poll(() => kit.calls.some(({ businessKey }) => businessKey === `charge:${order}`)).toBe(true);
  await kit.loseLease(charge, `charge:${order}`);
  const second = paid(order);
  await second.deliver();
  expect(await second.outcome()).toMatchObject({ outcome: 'already_done' });
  expect(await first.outcome()).toMatchObject({ outcome: 'done' });
  await kit.expectOnce(charge, `charge:${order}`, () => charges(`charge:${order}`));
  expect(kit.lines).toContainEqual(
    expect.objectContaining({ msg: 'effect.superseded', businessKey: `charge:${order}` }),
  );
});

test('a lease that nobody holds cannot be lost', async () => {
  await expect(kit.loseLease(charge, 'charge:nobody')).rejects.toThrow(/no attempt at 'charge' holds a lease/);
});

test('an effect that took hold twice is told with every attempt', async () => {
  const order = randomUUID();
  const event = paid(order);
  await event.deliver();
  await event.outcome();
  await expect(kit.expectOnce(charge, `charge:${order}`, 2)).rejects.toThrow(
    /'charge' under "charge:.*" took hold 2 times instead of once\.\n {2}called for shop\/.*\n {2}effect.done attempt 1: done/,
  );
});

test('an event that does not end is told with its story', async () => {
  const order = randomUUID();
  bank.next({ reply: { afterMs: 1000 }, where: ({ body }) => body.businessKey === `charge:${order}` });
  const event = paid(order);
  await event.deliver();
  await expect(event.outcome(300)).rejects.toThrow(/has not ended within 300 ms: charge attempting/);
  expect(await event.outcome()).toMatchObject({ outcome: 'done' });
});

test('after the histories are forgotten the ledger still knows what is done', async () => {
  const order = randomUUID();
  const event = paid(order);
  await event.deliver();
  await event.outcome();
  await kit.forgetHistories();
  expect(await event.deliver()).toMatchObject({ path: 'first_run' });
  expect(await event.outcome()).toMatchObject({
    outcome: 'already_done',
    effects: [{ result: {} }, { result: { order } }],
  });
  await kit.expectOnce(charge, `charge:${order}`, () => charges(`charge:${order}`));
});

test('an event of an unknown source, and a crash that a local write cannot have, are refused', () => {
  const other = { ...shop, name: 'other' };
  expect(() => kit.event(other, { type: 'order.paid', data: { order: '1' } })).toThrow(/without the source 'other'/);
  expect(() => kit.crash(ship, { at: 'after_completion' })).toThrow(/cannot crash after completion/);
});
