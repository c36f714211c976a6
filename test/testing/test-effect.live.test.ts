import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { NotDoneError, NotYetError, PermanentError } from '../../src/effects/errors.js';
import { forwardsKey, park, reconcile } from '../../src/effects/recovery.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { attemptSteps, startTestDatabase, type TestDatabase, testEffect } from '../../src/testing/index.js';
import { shop } from '../hazards/support/shop.js';
import { createTestDatabase, type TestDatabase as Fresh } from '../setup/database.js';

let fresh: Fresh;
let database: TestDatabase;
let db: TestDatabase['db'];
beforeAll(async () => {
  fresh = await createTestDatabase();
  database = await startTestDatabase({ url: fresh.url, setup: 'CREATE TABLE shipments (order_id text NOT NULL)' });
  db = database.db;
});
afterAll(async () => {
  await database?.stop();
  await fresh?.drop();
});

/** What the next call does, and what was done. */
let next: (() => Promise<unknown>)[];
let done: string[];
let told: { done: { charge: string } } | 'absent' | 'unknown';
beforeEach(() => {
  next = [];
  done = [];
  told = 'unknown';
});
const perform = async ({ idempotencyKey }: { idempotencyKey: string }) => {
  await next.shift()?.();
  done.push(idempotencyKey);
  return { charge: idempotencyKey };
};
const throwing = (error: Error) => async () => {
  throw error;
};
const common = {
  on: 'order.paid',
  businessKey: (event: { data: { order: string } }) => `charge:${event.data.order}`,
  retry: { maximumAttempts: 3 },
  perform,
} as const;
const charge = shop.externalEffect('charge', { ...common, recovery: forwardsKey({ validFor: '24 hours' }) });
const asking = shop.externalEffect('asking', {
  ...common,
  recovery: reconcile<{ charge: string }>(async () => told, { settleAfter: '5 minutes' }),
});
const parking = shop.externalEffect('parking', { ...common, recovery: park() });
const ship = shop.effect('ship', {
  on: ['order.paid', 'order.refunded'],
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
    await next.shift()?.();
    return { order: event.data.order };
  },
});
const paid = () => ({ type: 'order.paid' as const, data: { order: randomUUID() } });
const shipments = async (order: string) =>
  (await db.query('SELECT 1 FROM shipments WHERE order_id = $1', [order])).rowCount;

test('a local write is done with its result, under the key of its function', async () => {
  const event = paid();
  const { order } = event.data;
  expect(await testEffect(ship, event, { db }).run()).toEqual({
    outcome: 'done',
    businessKey: `shipment:${order}`,
    result: { order },
    attempts: 1,
    calls: 1,
    idempotencyKeys: [],
    recoveries: [],
  });
  expect(await shipments(order)).toBe(1);
});

test('the same event again, and the same happening under another id, find it done', async () => {
  const event = paid();
  const first = testEffect(ship, event, { db });
  const { result } = await first.run();
  expect(await first.run()).toMatchObject({ outcome: 'already_done', result, calls: 0 });
  expect(await first.another().run()).toMatchObject({ outcome: 'already_done', doneBy: first.event, result, calls: 0 });
  const other = first.another({ data: { order: event.data.order, more: 1 } });
  expect(await other.run()).toMatchObject({ outcome: 'already_done', otherData: true });
  expect(await shipments(event.data.order)).toBe(1);
});

test.each(attemptSteps)('a local write that crashes at %s leaves one shipment in the end', async (step) => {
  const event = paid();
  const shipping = testEffect(ship, event, { db });
  await shipping.crash(step);
  expect(await shipments(event.data.order)).toBe(step === 'after_completion' ? 1 : 0);
  expect(await shipping.run()).toMatchObject({ outcome: 'done', attempts: 2 });
  expect(await shipments(event.data.order)).toBe(1);
});

test.each(attemptSteps)('a call that crashes at %s is finished under the same key', async (step) => {
  const charging = testEffect(charge, paid(), { db });
  await charging.crash(step);
  await charging.expireLease();
  const report = await charging.run();
  expect(report).toMatchObject({ outcome: 'done', attempts: 2 });
  expect(new Set([...done, ...report.idempotencyKeys]).size).toBe(1);
  expect(await charging.claim()).toMatchObject({ state: 'done' });
});

test('until its lease is over, a crashed attempt is waited for, by other events too', async () => {
  const charging = testEffect(charge, paid(), { db });
  await charging.crash('after_call');
  expect(await charging.run()).toMatchObject({ outcome: 'waiting', code: 'claim_waiting', attempts: 1 });
  expect(await charging.another().run()).toMatchObject({ outcome: 'waiting', code: 'claim_waiting', attempts: 0 });
  await charging.expireLease();
  expect(await charging.another().run()).toMatchObject({ outcome: 'already_done', recoveries: ['forwardsKey'] });
  expect(new Set(done).size).toBe(1);
});

test('a key that the recipient may have forgotten is not sent again', async () => {
  const charging = testEffect(charge, paid(), { db });
  await charging.crash('after_call');
  await charging.passTime('25 hours');
  expect(await charging.run()).toMatchObject({ outcome: 'parked', calls: 0 });
});

test('an answer of absent is believed once what was sent has settled', async () => {
  const charging = testEffect(asking, paid(), { db });
  await charging.crash('before_call');
  await charging.expireLease();
  told = 'absent';
  expect(await charging.run()).toMatchObject({ outcome: 'waiting', code: 'outcome_settling', calls: 0 });
  await charging.settle();
  expect(await charging.run()).toMatchObject({ outcome: 'done', calls: 1, recoveries: ['reconcile'] });
});

test('an outcome that stays unknown is parked when the budget of asking is spent', async () => {
  const charging = testEffect(asking, paid(), { db });
  next = [throwing(new Error('no answer'))];
  expect(await charging.run()).toMatchObject({ outcome: 'parked', attempts: 3, calls: 1 });
  expect(await charging.claim()).toMatchObject({ state: 'parked' });
});

test('a parked effect goes on once it is resolved, as done or anew', async () => {
  const sent = testEffect(parking, paid(), { db });
  await sent.crash('after_call');
  await sent.expireLease();
  expect(await sent.run()).toMatchObject({ outcome: 'parked', calls: 0 });
  await sent.resolve({ outcome: 'done', result: { charge: 'ch_7' } });
  expect(await sent.run()).toMatchObject({ outcome: 'done', result: { charge: 'ch_7' }, calls: 0 });

  const unsent = testEffect(parking, paid(), { db });
  next = [throwing(new Error('no answer'))];
  expect(await unsent.run()).toMatchObject({ outcome: 'parked', calls: 1 });
  await unsent.resolve({ outcome: 'absent' });
  const { outcome, idempotencyKeys } = await unsent.run();
  expect(outcome).toBe('done');
  expect(idempotencyKeys[0]).toMatch(/-2$/);
});

test('pauses are left out, and the budget is spent as in production', async () => {
  next = [throwing(new NotDoneError('busy', { retryAfter: '1 hour' })), throwing(new NotDoneError('busy'))];
  expect(await testEffect(charge, paid(), { db }).run()).toMatchObject({ outcome: 'done', attempts: 3, calls: 3 });
  next = Array.from({ length: 3 }, () => throwing(new NotDoneError('busy')));
  expect(await testEffect(charge, paid(), { db }).run()).toMatchObject({
    outcome: 'failed',
    code: 'not_done',
    attempts: 3,
  });
  const no = new PermanentError('declined');
  next = [throwing(no)];
  expect(await testEffect(charge, paid(), { db }).run()).toMatchObject({ outcome: 'failed', attempts: 1, error: no });
});

test('an effect that is not ready waits, and spends nothing', async () => {
  const shipping = testEffect(ship, paid(), { db });
  next = [throwing(new NotYetError('1 hour'))];
  expect(await shipping.run()).toMatchObject({ outcome: 'waiting', code: 'not_yet', attempts: 0 });
  expect(await shipping.run()).toMatchObject({ outcome: 'done', attempts: 1 });
});

test('an older state that comes later is stale, and an equal one is said to be equal', async () => {
  const follow = shop.externalEffect('follow', {
    ...common,
    businessKey: ({ data, occurredAt }) => `follow:${data.order}/${occurredAt?.getTime()}/${data.part ?? 1}`,
    supersede: { by: ({ data }) => data.order, version: ({ occurredAt }) => occurredAt ?? 0 },
    recovery: park(),
  });
  const event = { ...paid(), occurredAt: new Date('2026-02-03T04:05:07Z') };
  const newer = testEffect(follow, event, { db });
  expect(await newer.run()).toMatchObject({ outcome: 'done' });
  const equal = newer.another({ data: { ...event.data, part: 2 } });
  expect(await equal.run()).toMatchObject({ outcome: 'done', equalTo: newer.event });
  const older = newer.another({ occurredAt: new Date('2026-02-03T04:05:06Z') });
  expect(await older.run()).toMatchObject({ outcome: 'stale', doneBy: newer.event, calls: 0 });
});

test('tenants know nothing of each other', async () => {
  const event = paid();
  const runs = ['a', 'b'].map((tenant) => testEffect(ship, event, { db, tenant }).run());
  expect((await Promise.all(runs)).map(({ outcome }) => outcome)).toEqual(['done', 'done']);
});

test('data that the schema refuses fail as they would in production', async () => {
  const blank = shop.effect('blank', { on: 'order.paid', businessKey: () => ' ', commit: async () => {} });
  expect(await testEffect(blank, paid(), { db }).run()).toMatchObject({
    outcome: 'failed',
    code: 'business_key_invalid',
  });
});

test('a crash at a step that the attempt does not reach says where it ended', async () => {
  const charging = testEffect(charge, paid(), { db });
  await charging.run();
  await expect(charging.another().crash('before_call')).rejects.toThrow(
    /did not come to 'before_call': it ended as already_done, by shop\/evt_/,
  );
});

test('a database without the ledger is said to lack it', async () => {
  const bare = await startTestDatabase({ url: fresh.url, schema: 'elsewhere' });
  try {
    const unmigrated = testEffect(ship, paid(), { db: bare.db, schema: 'nowhere' });
    await expect(unmigrated.run()).rejects.toThrow(/ledger "nowhere" .* lacks migrations: .*migrateLedger/);
    expect(await testEffect(ship, paid(), { db: bare.db, schema: 'elsewhere' }).run()).toMatchObject({
      outcome: 'done',
    });
  } finally {
    await bare.stop();
  }
});

test('a database that is away is an error of the test, not an outcome', async () => {
  const away = pgDatabase({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
  await expect(testEffect(ship, paid(), { db: away }).run()).rejects.toThrow(/PostgreSQL cannot be reached/);
});

test('what is no effect, no type of it, or no option is refused', () => {
  expect(() => testEffect({ ...ship, on: ['order.paid'] }, { ...paid(), type: 'order.refunded' }, { db })).toThrow(
    /'ship' acts on order.paid, and not on 'order.refunded'/,
  );
  expect(() => testEffect({} as typeof ship, paid(), { db })).toThrow(/expected an effect as source.effect/);
  expect(() => testEffect(ship, paid(), { db, tennant: 'a' } as never)).toThrow(/did you mean 'tenant'/);
});
