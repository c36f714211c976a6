import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { shop } from '../../hazards/support/shop.js';
import { createStage, type Deployed, type Stage } from '../support/stage.js';
import {
  askForRating,
  delivered,
  keyOf,
  missing,
  settled,
  setup,
  shipOrder,
  speechless,
  thankCustomer,
  timesIn,
} from './support/shelf.js';

const bob = { by: 'bob', reason: 'customers shall be thanked' };
const all = { source: 'shop' };

let stage: Stage;
/** Before and after two effects were added. */
let before: Deployed;
let after: Deployed;
let name: string;

beforeAll(async () => {
  stage = await createStage({ setup });
  before = stage.deploy([shipOrder]);
  after = stage.deploy([shipOrder, thankCustomer, askForRating]);
});
afterAll(() => stage?.close());
beforeEach(async () => {
  name = randomUUID();
  // What an earlier test left is no longer taken in.
  await stage.sql("UPDATE onefold.events SET source = 'earlier' WHERE source = 'shop'");
  await before.startWorker();
});
afterEach(() => after.stopWorker());

async function upgrade(): Promise<void> {
  await before.stopWorker();
  await after.startWorker();
}

test('of a done event only the effect named is run, not what else was added since', async () => {
  const orders = await delivered(stage, before, name, 1, 'done');
  await upgrade();
  const look = await after.onefold.replay(`shop/${orders[0]}`, { ...bob, effect: 'thank-customer', dryRun: true });
  expect(look.steps).toEqual([{ effect: 'thank-customer', action: 'perform', because: 'added since' }]);
  const outcome = await after.onefold.replay(`shop/${orders[0]}`, { ...bob, effect: 'thank-customer' });
  expect(outcome.outcome).toBe('started');
  await stage.client.workflow.getHandle(keyOf(orders[0] as string), outcome.runId).result();
  expect(await timesIn(stage, 'letters', orders)).toEqual([1]);
  expect(await timesIn(stage, 'ratings', orders)).toEqual([0]);
  expect(await timesIn(stage, 'shipments', orders)).toEqual([1]);
  expect(await after.onefold.replay(`shop/${orders[0]}`, { ...bob, effect: 'thank-customer' })).toMatchObject({
    outcome: 'nothing_to_do',
  });
});

test('an event that is not done is refused, and so is an effect that does not act on it', async () => {
  missing.add(name);
  const [order] = await delivered(stage, before, name, 1, 'dead_lettered');
  missing.delete(name);
  await upgrade();
  const one = (effect: string) => after.onefold.replay(`shop/${order}`, { ...bob, effect });
  await expect(one('thank-customer')).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining('replay it whole'),
  });
  await expect(one('no-such')).rejects.toMatchObject({ code: 'effect_unknown' });
  expect(await timesIn(stage, 'letters', [order as string])).toEqual([0]);
});

test('of many only those that are done without the effect are taken, each once', async () => {
  const orders = await delivered(stage, before, name, 6, 'done');
  missing.add(`${name}-dead`);
  await delivered(stage, before, `${name}-dead`, 1, 'dead_lettered');
  missing.clear();
  await upgrade();
  const has = await delivered(stage, after, `${name}-has`, 1, 'done');
  const outcome = await after.onefold.replayMany(all, { ...bob, effect: 'thank-customer', rate: 100 });
  expect(outcome).toMatchObject({ outcome: 'ended', size: 6, effect: 'thank-customer', counts: { started: 6 } });
  await settled(stage, orders, 'done');
  expect(await timesIn(stage, 'letters', [...orders, ...has, `${name}-dead-1`])).toEqual([1, 1, 1, 1, 1, 1, 1, 0]);
  expect(await timesIn(stage, 'ratings', orders)).toEqual(orders.map(() => 0));
  expect(await timesIn(stage, 'shipments', orders)).toEqual(orders.map(() => 1));
  expect(await after.onefold.replayMany(all, { ...bob, effect: 'thank-customer' })).toMatchObject({
    outcome: 'nothing_found',
  });
});

test('an event that was recorded without effects becomes one with this effect', async () => {
  const [order] = await delivered(stage, before, name, 1, 'done');
  const key = keyOf(order as string);
  await stage.sql('DELETE FROM onefold.event_effects WHERE event_key = $1', [key]);
  await stage.sql("UPDATE onefold.events SET state = 'ignored', remaining = 0 WHERE event_key = $1", [key]);
  await upgrade();
  const outcome = await after.onefold.replayMany(
    { ...all, state: 'ignored' },
    { ...bob, effect: 'thank-customer', rate: 100 },
  );
  expect(outcome).toMatchObject({ outcome: 'ended', size: 1, counts: { started: 1 } });
  await settled(stage, [order as string], 'done');
  expect(await timesIn(stage, 'letters', [order as string])).toEqual([1]);
  expect(await timesIn(stage, 'ratings', [order as string])).toEqual([0]);
});

test('an effect that failed when it was run alone is run alone again, and only where nothing else is left', async () => {
  const [order] = await delivered(stage, before, name, 1, 'done');
  await upgrade();
  speechless.add(order as string);
  await after.onefold.replay(`shop/${order}`, { ...bob, effect: 'thank-customer' });
  await settled(stage, [order as string], 'dead_lettered');
  speechless.delete(order as string);
  const other = after.onefold.replay(`shop/${order}`, { ...bob, effect: 'ask-for-rating' });
  await expect(other).rejects.toMatchObject({ code: 'replay_refused' });
  await after.onefold.replay(`shop/${order}`, { ...bob, effect: 'thank-customer' });
  await settled(stage, [order as string], 'done');
  expect(await timesIn(stage, 'letters', [order as string])).toEqual([1]);
  expect(await timesIn(stage, 'ratings', [order as string])).toEqual([0]);
});

test('what was only observed is lacking still: a replay of the effect runs it once it is live', async () => {
  const observing = { mode: 'observe', on: 'order.paid' } as const;
  const watched = shop.effect('thank-customer', {
    ...observing,
    businessKey: ({ data }) => `letter:${data.order}`,
    commit: async () => {},
  });
  const alsoWatched = shop.effect('ask-for-rating', {
    ...observing,
    businessKey: ({ data }) => `rating:${data.order}`,
    commit: async () => {},
  });
  await before.stopWorker();
  const beside = stage.deploy([shipOrder, watched, alsoWatched]);
  await beside.startWorker();
  const orders = await delivered(stage, beside, name, 2, 'done');
  const whole = await beside.onefold.replay(`shop/${orders[0]}`, bob);
  expect(whole.outcome).toBe('nothing_to_do');
  await beside.stopWorker();
  await after.startWorker();
  const outcome = await after.onefold.replayMany(all, { ...bob, effect: 'thank-customer', rate: 100 });
  expect(outcome).toMatchObject({ outcome: 'ended', size: 2, counts: { started: 2 } });
  for (const order of orders) await stage.client.workflow.getHandle(keyOf(order)).result();
  expect(await timesIn(stage, 'letters', orders)).toEqual([1, 1]);
  expect(await timesIn(stage, 'ratings', orders)).toEqual([0, 0]);
});
