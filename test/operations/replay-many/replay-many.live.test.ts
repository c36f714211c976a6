import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ReplayManyOutcome } from '../../../src/operations/replay-many/replay-many.js';
import { until } from '../../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from '../support/stage.js';
import { delivered, keyOf, missing, settled, setup, shipOrder, timesIn } from './support/shelf.js';

const bob = { by: 'bob', reason: 'the shelf is back' };

let stage: Stage;
let app: Deployed;
let name: string;

beforeAll(async () => {
  stage = await createStage({ setup });
  app = stage.deploy([shipOrder]);
  await app.startWorker();
});
afterAll(() => stage?.close());
beforeEach(async () => {
  name = randomUUID();
  // What an earlier test left is no longer taken in.
  await stage.sql("UPDATE onefold.events SET source = 'earlier' WHERE source = 'shop'");
});

/** Dead letters that would succeed now. */
async function deadLettered(many: number): Promise<readonly string[]> {
  missing.add(name);
  const orders = await delivered(stage, app, name, many, 'dead_lettered');
  missing.delete(name);
  return orders;
}

const all = { source: 'shop' };

async function replayActs(orders: readonly string[]) {
  return stage.sql<{ id: string; event_key: string; outcome: string }>(
    "SELECT id, event_key, outcome FROM onefold.acts WHERE kind = 'replay' AND event_key = ANY($1) ORDER BY at",
    [orders.map(keyOf)],
  );
}

async function runsOf(orders: readonly string[], expected: number): Promise<number[]> {
  return until('the runs in visibility', async () => {
    const runs = await Promise.all(orders.map(async (order) => (await stage.runsOf(keyOf(order))).length));
    return runs.every((count) => count >= expected) && runs;
  });
}

/** A checksum of every table of the ledger but the evidence of deliveries, which the receiver writes a moment later. */
async function checksum(): Promise<unknown> {
  const tables = await stage.sql<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'onefold' AND tablename <> 'deliveries' ORDER BY tablename",
  );
  return Promise.all(
    tables.map(async (table) => [
      table.name,
      (
        await stage.sql(
          `SELECT md5(coalesce(string_agg(r::text, '|' ORDER BY r::text), '')) AS sum FROM onefold.${table.name} r`,
        )
      )[0]?.sum,
    ]),
  );
}

test('every event that a filter takes in is replayed once, under an act of the set, and what fails later is not in it', async () => {
  const orders = await deadLettered(12);
  const progress: number[] = [];
  const act = `all-${name}`;
  const outcome = await app.onefold.replayMany(all, {
    ...bob,
    id: act,
    rate: 200,
    onProgress: ({ size, counts }) => progress.push(size - counts.open),
  });
  expect(outcome).toMatchObject({
    outcome: 'ended',
    state: 'ended',
    size: 12,
    by: 'bob',
    counts: { started: 12, refused: 0, open: 0 },
    refusals: [],
  });
  expect([progress[0], progress.at(-1)]).toEqual([0, 12]);
  await settled(stage, orders, 'done');
  expect(await timesIn(stage, 'shipments', orders)).toEqual(orders.map(() => 1));
  expect(await runsOf(orders, 2)).toEqual(orders.map(() => 2));
  const acts = await replayActs(orders);
  expect(acts.map(({ id }) => id).sort()).toEqual(orders.map((_order, at) => `${act}/${at + 1}`).sort());

  missing.add(`${name}-late`);
  await delivered(stage, app, `${name}-late`, 1, 'dead_lettered');
  missing.clear();
  expect(await app.onefold.replayMany({}, { ...bob, id: act })).toMatchObject({ outcome: 'ended', size: 12 });
  expect(await replayActs([`${name}-late-1`])).toEqual([]);
  expect(await stage.sql('SELECT kind, event_key, outcome FROM onefold.acts WHERE id = $1', [act])).toEqual([
    { kind: 'replay_many', event_key: 'events', outcome: 'ended' },
  ]);
});

test('two people who replay the same events at once start one run of each, and both sets have an answer for each', async () => {
  const orders = await deadLettered(10);
  const outcomes = (await Promise.all(
    ['ann', 'bob'].map((by) => app.onefold.replayMany(all, { ...bob, by, id: `${by}-${name}`, rate: 200 })),
  )) as ReplayManyOutcome[];
  await settled(stage, orders, 'done');
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['ended', 'ended']);
  const started = outcomes.map(({ counts }) => counts.started);
  expect((started[0] ?? 0) + (started[1] ?? 0)).toBe(outcomes.find(({ size }) => size === 10) ? 10 : 0);
  for (const { size, counts } of outcomes) {
    expect(counts.started + counts.lost_race + counts.nothing_to_do + counts.refused).toBe(size);
  }
  expect(await timesIn(stage, 'shipments', orders)).toEqual(orders.map(() => 1));
  expect(await runsOf(orders, 2)).toEqual(orders.map(() => 2));
});

test('several processes share one set: each event is asked for once', async () => {
  const orders = await deadLettered(16);
  const other = stage.deploy([shipOrder]);
  const act = `shared-${name}`;
  const outcomes = await Promise.all(
    [app, other, app].map((one) => one.onefold.replayMany(all, { ...bob, id: act, rate: 100 })),
  );
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ outcome: 'ended', size: 16, counts: { started: 16, open: 0 } });
  }
  await settled(stage, orders, 'done');
  expect(await replayActs(orders)).toHaveLength(16);
  const lines = [...app.lines, ...other.lines].filter(
    ({ msg, act: id }) => msg === 'webhook.replayed' && String(id).startsWith(`${act}/`),
  );
  expect(lines).toHaveLength(16);
  expect(await runsOf(orders, 2)).toEqual(orders.map(() => 2));
});

test('events that were redelivered meanwhile are not run again, and a running one is refused with the reason', async () => {
  const [done, failed] = await deadLettered(2);
  const act = `redelivered-${name}`;
  const stopped = new AbortController();
  stopped.abort();
  expect(await app.onefold.replayMany(all, { ...bob, id: act, signal: stopped.signal })).toMatchObject({
    outcome: 'stopped',
    state: 'open',
    counts: { open: 2 },
  });
  await app.deliver(done as string);
  await settled(stage, [done as string], 'done');
  await app.stopWorker();
  await app.deliver(failed as string);
  await stage.sql("UPDATE onefold.events SET state = 'open' WHERE event_key = $1", [keyOf(failed as string)]);
  const outcome = await app.onefold.replayMany({}, { ...bob, id: act });
  expect(outcome).toMatchObject({
    outcome: 'ended',
    counts: { nothing_to_do: 1, refused: 1 },
    refusals: [{ event: `shop/${failed}`, note: expect.stringContaining('is being processed') }],
  });
  await app.startWorker();
  await settled(stage, [failed as string], 'done');
  expect(await timesIn(stage, 'shipments', [done as string, failed as string])).toEqual([1, 1]);
});

test('a look says what would be done about each event, and changes no row', async () => {
  await deadLettered(3);
  const before = await checksum();
  const preview = await app.onefold.previewReplay(all, { decisions: 2 });
  expect(preview).toMatchObject({
    outcome: 'dry_run',
    size: 3,
    events: [{ source: 'shop', type: 'order.paid', code: 'permanent_error', events: 3 }],
    effects: [{ effect: 'ship-order', left: 3, inDoubt: 0, done: 0 }],
    first: [`shop/${name}-1`, `shop/${name}-2`, `shop/${name}-3`],
    decisions: [
      { event: `shop/${name}-1`, steps: [{ effect: 'ship-order', action: 'perform' }] },
      { event: `shop/${name}-2`, steps: [{ effect: 'ship-order', action: 'perform' }] },
    ],
  });
  expect(await checksum()).toEqual(before);
});

test('no more events are begun in a second than asked for', async () => {
  await deadLettered(9);
  const began = performance.now();
  const outcome = await app.onefold.replayMany(all, { ...bob, rate: 4 });
  expect(outcome).toMatchObject({ outcome: 'ended', counts: { started: 9 } });
  expect(performance.now() - began).toBeGreaterThan(1_950);
});

test('a cancelled set replays no more, says who cancelled it, and stays cancelled', async () => {
  const orders = await deadLettered(4);
  const act = `cancelled-${name}`;
  const stopping = new AbortController();
  const part = await app.onefold.replayMany(all, {
    ...bob,
    id: act,
    rate: 2,
    onProgress: ({ counts }) => counts.started > 0 && stopping.abort(),
    signal: stopping.signal,
  });
  expect(part).toMatchObject({ outcome: 'stopped' });
  const started = (part as ReplayManyOutcome).counts.started;
  const cancelled = await app.onefold.cancelReplay({ id: act }, { by: 'ann', reason: 'enough' });
  expect(cancelled).toMatchObject({ outcome: 'cancelled', counts: { started, cancelled: 4 - started, open: 0 } });
  expect(await app.onefold.cancelReplay({ id: act }, { by: 'ann', reason: 'enough' })).toMatchObject({
    outcome: 'already_ended',
  });
  expect(await app.onefold.replayMany(all, { ...bob, id: act })).toMatchObject({ outcome: 'cancelled' });
  expect(await replayActs(orders)).toHaveLength(started);
  expect(
    await stage.sql('SELECT id, actor, outcome FROM onefold.acts WHERE id LIKE $1 ORDER BY at', [`${act}%cancel`]),
  ).toEqual([{ id: `${act}/cancel`, actor: 'ann', outcome: 'cancelled' }]);
});

test('what concerns every event interrupts the set, which goes on under the same id', async () => {
  const orders = await deadLettered(4);
  const act = `interrupted-${name}`;
  const broken = stage.deploy([shipOrder], {
    around: (database) => ({
      ...database,
      transaction: (work, limits) => database.transaction(work, limits),
      query: (text, values) => {
        // After the set is frozen, every look at an event fails as an unreachable PostgreSQL does.
        if (/SELECT e\.source, e\.event_id/.test(text)) {
          return Promise.reject(Object.assign(new Error('connection lost'), { code: '57P01' }));
        }
        return database.query(text, values);
      },
    }),
  });
  const interrupted = await broken.onefold.replayMany(all, { ...bob, id: act });
  expect(interrupted).toMatchObject({
    outcome: 'interrupted',
    because: { message: expect.stringContaining('connection lost') },
    counts: { open: 4 },
  });
  expect(await app.onefold.replayMany({}, { ...bob, id: act })).toMatchObject({
    outcome: 'ended',
    counts: { started: 4 },
  });
  await settled(stage, orders, 'done');
  expect(await timesIn(stage, 'shipments', orders)).toEqual([1, 1, 1, 1]);
});

test('events whose outcome a dying process did not write are asked for again under the same acts, and run once', async () => {
  const orders = await deadLettered(4);
  const act = `died-${name}`;
  const dying = stage.deploy([shipOrder], {
    around: (database) => ({
      ...database,
      transaction: (work, limits) =>
        database.transaction(async (tx, sql) => {
          const answer = await work(tx, sql);
          // As the connection ends of a process that dies before its commit.
          if (typeof answer === 'object') throw new Error('the process died');
          return answer;
        }, limits),
    }),
  });
  expect(await dying.onefold.replayMany(all, { ...bob, id: act, rate: 100 })).toMatchObject({
    outcome: 'interrupted',
    counts: { started: 0, open: 4 },
  });
  await settled(stage, orders, 'done');
  expect(await app.onefold.replayMany({}, { ...bob, id: act })).toMatchObject({
    outcome: 'ended',
    counts: { started: 4 },
  });
  expect(await replayActs(orders)).toHaveLength(4);
  expect(await runsOf(orders, 2)).toEqual([2, 2, 2, 2]);
  expect(await timesIn(stage, 'shipments', orders)).toEqual([1, 1, 1, 1]);
});

test('a set has at most a hundred thousand events', async () => {
  await stage.sql(
    `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, state, remaining, received_at)
     SELECT 'large', 'event/large/shop/' || n, 'shop', n, 'order.paid', 'd', '{}', 'dead_lettered', 1, now()
     FROM generate_series(1, 100001) AS n`,
  );
  const large = { ...all, tenant: 'large' };
  const stopped = AbortSignal.abort();
  const replaying = () => app.onefold.replayMany(large, { ...bob, id: `large-${name}`, signal: stopped });
  await expect(replaying()).rejects.toMatchObject({ code: 'replay_set_too_large' });
  await expect(app.onefold.previewReplay(large)).rejects.toMatchObject({ code: 'replay_set_too_large' });
  expect(await stage.sql('SELECT 1 FROM onefold.acts WHERE id = $1', [`large-${name}`])).toEqual([]);
  expect(await stage.sql('SELECT 1 FROM onefold.replay_set_items WHERE set_id = $1', [`large-${name}`])).toEqual([]);
  await stage.sql("DELETE FROM onefold.events WHERE event_key = 'event/large/shop/1'");
  const began = performance.now();
  expect(await replaying()).toMatchObject({ outcome: 'stopped', size: 100_000, counts: { open: 100_000 } });
  // Some seconds; a set of this size must not keep a person or a lock waiting.
  expect(performance.now() - began).toBeLessThan(30_000);
  await stage.sql("DELETE FROM onefold.events WHERE tenant = 'large'");
});

test('only the events of the tenant and the filter are in the set', async () => {
  await deadLettered(2);
  await stage.sql("UPDATE onefold.events SET tenant = 'acme' WHERE event_key = $1", [keyOf(`${name}-1`)]);
  const sizes = await Promise.all(
    [all, { ...all, tenant: 'acme' }, { ...all, code: 'other' }, { ...all, businessKey: `shipment:${name}-2` }].map(
      async (filter) => (await app.onefold.previewReplay(filter)).size,
    ),
  );
  expect(sizes).toEqual([1, 1, 0, 1]);
  expect(await app.onefold.replayMany({ ...all, code: 'other' }, { ...bob, id: `none-${name}` })).toEqual({
    tenant: '',
    outcome: 'nothing_found',
  });
  expect(await stage.sql('SELECT 1 FROM onefold.acts WHERE id = $1', [`none-${name}`])).toEqual([]);
});

test.each([
  ['no filter', {}, {}, 'filter_missing'],
  ['an empty tenant alone', { tenant: '' }, {}, 'filter_missing'],
  ['a state that is none', { state: 'broken' }, {}, 'request_invalid'],
  ['a filter that is none', { sources: 'shop' }, {}, 'config_invalid'],
  ['a rate of nothing', { source: 'shop' }, { rate: 0 }, 'request_invalid'],
  ['an effect that is none', { source: 'shop' }, { effect: 'other' }, 'effect_unknown'],
  ['no reason', { source: 'shop' }, { reason: ' ' }, 'replay_refused'],
])('%s is refused, and nothing is recorded', async (_what, filter, options, code) => {
  const before = await checksum();
  const refused = app.onefold.replayMany(filter as object, { ...bob, ...options });
  await expect(refused).rejects.toMatchObject({ code });
  expect(await checksum()).toEqual(before);
});

test('the id of another act is refused, and so is an unknown one without a filter', async () => {
  const [order] = await deadLettered(1);
  await app.onefold.replay(`shop/${order}`, { ...bob, id: `one-${name}` });
  await expect(app.onefold.replayMany(all, { ...bob, id: `one-${name}` })).rejects.toMatchObject({
    code: 'replay_refused',
  });
  await expect(app.onefold.cancelReplay({ id: `unknown-${name}` }, bob)).rejects.toMatchObject({
    code: 'replay_set_unknown',
  });
  await settled(stage, [order as string], 'done');
});
