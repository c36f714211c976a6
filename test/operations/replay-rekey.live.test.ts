import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { planEvent } from '../../src/effects/plan-event.js';
import { forwardsKey } from '../../src/effects/recovery.js';
import { operationsContext } from '../../src/operations/context.js';
import type { ReplayOptions } from '../../src/operations/replay-event.js';
import type { ProcessEventInput } from '../../src/workflows/contract.js';
import { shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from './support/stage.js';

/** Orders whose effects fail. */
const failing = new Set<string>();

/** An effect that has failed under one key function, as a deploy with another one has it. */
function shipOrder(keyOf: (order: string) => string) {
  return shop.effect('ship-order', {
    on: 'order.paid',
    businessKey: ({ data }) => keyOf(data.order),
    retry: { maximumAttempts: 1 },
    commit: async ({ event, tx, businessKey }) => {
      if (failing.has(event.data.order)) throw new Error('the warehouse said no');
      await tx.query('INSERT INTO shipments (order_id, business_key) VALUES ($1, $2)', [event.data.order, businessKey]);
    },
  });
}
function chargeCard(keyOf: (order: string) => string) {
  return shop.externalEffect('charge-card', {
    on: 'order.paid',
    businessKey: ({ data }) => keyOf(data.order),
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: async ({ event, businessKey }) => {
      calls.push(`${event.data.order} ${businessKey}`);
    },
  });
}
const calls: string[] = [];
const old = (order: string) => `old:${order}`;
const renewed = (order: string) => `new:${order}`;

const bob: ReplayOptions = { by: 'bob', reason: 'one shipment per parcel' };

let stage: Stage;
let app: Deployed;
let running: Deployed | undefined;
let id: string;
let key: string;

beforeAll(async () => {
  stage = await createStage({ setup: 'CREATE TABLE shipments (order_id text NOT NULL, business_key text NOT NULL)' });
});
afterAll(() => stage?.close());
beforeEach(() => {
  id = randomUUID();
  key = `event//shop/${id}`;
});

/** Deploys an application, with its worker in the place of the one before unless that is told to stay. */
async function deploy(effects: Parameters<Stage['deploy']>[0], { worker = true } = {}): Promise<void> {
  app = stage.deploy(effects);
  if (!worker) return;
  await running?.stopWorker();
  running = app;
  await app.startWorker();
}

const handle = () => stage.client.workflow.getHandle(key);
const shipments = async () =>
  (await stage.sql('SELECT business_key FROM shipments WHERE order_id = $1', [id])).map((row) => row.business_key);
const recordedKeys = async () =>
  Object.fromEntries(
    (await stage.sql('SELECT effect, business_key FROM onefold.event_effects WHERE event_key = $1', [key])).map(
      (row) => [row.effect, row.business_key],
    ),
  );

/** An event whose shipping failed for good under its old key. */
async function deadLettered(data: Record<string, unknown> = {}): Promise<void> {
  await deploy([shipOrder(old)]);
  failing.add(id);
  await app.deliver(id, data);
  await expect(handle().result()).rejects.toThrow();
  failing.delete(id);
}

/** The same with an external effect, whose claim may stand in any state. */
async function deadLetteredExternal(claim?: Record<string, unknown>): Promise<void> {
  await deploy([chargeCard(old)]);
  await running?.stopWorker();
  await app.deliver(id);
  await handle().terminate('an operator');
  const input: Omit<ProcessEventInput, 'payload'> = {
    version: 1,
    tenant: '',
    source: 'shop',
    id,
    type: 'order.paid',
    digest: 'd',
    receivedAt: new Date().toISOString(),
    effects: ['charge-card'],
  };
  await planEvent({ ...app.onefold[operationsContext], searchAttributes: [] }, key, {
    ...input,
    payload: { text: JSON.stringify({ type: 'order.paid', data: { order: id } }) },
  });
  if (claim) await insertClaim(claim);
}

async function insertClaim(claim: Record<string, unknown>): Promise<void> {
  const { lease, ...columns } = {
    tenant: '',
    effect: 'charge-card',
    business_key: old(id),
    fence: 1,
    owner: randomUUID(),
    event_key: key,
    event: `shop/${id}`,
    data_digest: 'd',
    ...claim,
  } as Record<string, unknown>;
  const names = Object.keys(columns);
  await stage.sql(
    `INSERT INTO onefold.effects (${names.join(', ')}, lease_until, acting_until, key_since, idempotency_key)
     VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')}, clock_timestamp() + $${names.length + 1}::interval,
             clock_timestamp(), clock_timestamp(), 'k')`,
    [...Object.values(columns), lease ?? null],
  );
}

test('a replay whose keys differ from the recorded ones is refused and names both, also when it only looks', async () => {
  await deadLettered();
  await deploy([shipOrder(renewed)]);
  const refused = {
    code: 'keys_differ',
    message: expect.stringContaining(`'ship-order': recorded "old:${id}", computed "new:${id}"`),
  };
  await expect(app.onefold.replay(`shop/${id}`, bob)).rejects.toMatchObject(refused);
  await expect(app.onefold.replay(`shop/${id}`, { ...bob, dryRun: true })).rejects.toMatchObject(refused);
  expect(await stage.sql('SELECT 1 FROM onefold.acts WHERE event_key = $1', [key])).toEqual([]);
  expect(await stage.runsOf(key)).toHaveLength(1);
});

test('with rekey it runs under the new key, and the act has both', async () => {
  await deadLettered();
  await deploy([shipOrder(renewed)]);
  const replayed = await app.onefold.replay(`shop/${id}`, { ...bob, rekey: true });
  const step = { effect: 'ship-order', businessKey: renewed(id), rekeyedFrom: old(id), action: 'perform' };
  expect(replayed).toMatchObject({ outcome: 'started', steps: [step] });
  expect(await handle().result()).toMatchObject({ outcome: 'done', effects: [{ businessKey: renewed(id) }] });
  expect(await shipments()).toEqual([renewed(id)]);
  expect(await recordedKeys()).toEqual({ 'ship-order': renewed(id) });
  const [act] = await stage.sql('SELECT seen FROM onefold.acts WHERE event_key = $1', [key]);
  expect(JSON.parse(act?.seen)).toMatchObject({ steps: [step] });
});

test('rekey leaves effects alone that have ended, and those whose key is the same', async () => {
  const letter = (keyOf: (order: string) => string) =>
    shop.effect('write-letter', {
      on: 'order.paid',
      businessKey: ({ data }) => keyOf(data.order),
      commit: async () => {},
    });
  await deploy([shipOrder(old), letter(old)]);
  failing.add(id);
  await app.deliver(id);
  await expect(handle().result()).rejects.toThrow();
  failing.delete(id);
  await deploy([shipOrder(old), letter(renewed)]);
  expect(await app.onefold.replay(`shop/${id}`, { ...bob, rekey: true })).toMatchObject({ outcome: 'started' });
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
  expect(await recordedKeys()).toEqual({ 'ship-order': old(id), 'write-letter': old(id) });
});

test.each([
  ['in doubt', { state: 'unknown', in_doubt: true, lease: '-1 second' }],
  ['left by an attempt that vanished', { state: 'claimed', lease: '-1 second' }],
  ['under a running lease', { state: 'claimed', lease: '1 hour' }],
  ['parked', { state: 'parked', in_doubt: true }],
  ['performed', { state: 'performed', result: '1', lease: '-1 second' }],
  ['done for this very event, by a person', { state: 'done', result: '1' }],
])('rekey is refused where the claim under the old key is %s, and nothing is recorded', async (_what, claim) => {
  await deadLetteredExternal(claim);
  await deploy([chargeCard(renewed)], { worker: false });
  await expect(app.onefold.replay(`shop/${id}`, { ...bob, rekey: true })).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining('onefold resolve'),
  });
  expect(await recordedKeys()).toEqual({ 'charge-card': old(id) });
  expect(await stage.sql('SELECT 1 FROM onefold.acts WHERE event_key = $1', [key])).toEqual([]);
});

test.each([
  ['released', { state: 'released' }],
  ['done by another event', { state: 'done', result: '1', event_key: 'event//shop/other', event: 'shop/other' }],
])('rekey is carried out where the claim under the old key is %s', async (_what, claim) => {
  await deadLetteredExternal(claim);
  await deploy([chargeCard(renewed)]);
  const { runId } = await app.onefold.replay(`shop/${id}`, { ...bob, rekey: true });
  await stage.client.workflow.getHandle(key, runId).result();
  expect(calls.filter((call) => call.startsWith(id))).toEqual([`${id} ${renewed(id)}`]);
});

test('what another event has done under the new key is not done again', async () => {
  await deadLetteredExternal();
  await deploy([chargeCard(renewed)]);
  await insertClaim({ business_key: renewed(id), state: 'done', result: '7', event_key: 'e', event: 'shop/other' });
  const replayed = await app.onefold.replay(`shop/${id}`, { ...bob, rekey: true });
  expect(replayed.steps).toMatchObject([{ action: 'skip', because: 'done by shop/other' }]);
  expect(replayed.outcome).toBe('started');
  expect(await handle().result()).toMatchObject({ outcome: 'already_done' });
  expect(calls.filter((call) => call.startsWith(id))).toEqual([]);
});

test('a worker that computes other keys than the person saw waits for the deploy instead of planning', async () => {
  await deadLettered();
  await deploy([shipOrder(renewed)], { worker: false });
  await app.onefold.replay(`shop/${id}`, { ...bob, rekey: true });
  await until('the refusal of the old worker', () =>
    running?.lines.some(({ msg, code, eventKey }) => {
      return msg === 'webhook.plan_failed' && code === 'keys_differ' && eventKey === key;
    }),
  );
  expect(await recordedKeys()).toEqual({ 'ship-order': old(id) });
  await deploy([shipOrder(renewed)]);
  await handle().signal('retryNow');
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
  expect(await shipments()).toEqual([renewed(id)]);
});

test('an effect that came to be in doubt after the person looked is not rekeyed, and the event says why', async () => {
  await deadLetteredExternal();
  await deploy([chargeCard(renewed)], { worker: false });
  await app.onefold.replay(`shop/${id}`, { ...bob, rekey: true });
  await insertClaim({ state: 'claimed', lease: '-1 second' });
  await deploy([chargeCard(renewed)]);
  await expect(handle().result()).rejects.toMatchObject({
    cause: { type: 'replay_refused', message: expect.stringContaining('resolve it first') },
  });
  expect(await recordedKeys()).toEqual({ 'charge-card': old(id) });
  expect(calls.filter((call) => call.startsWith(id))).toEqual([]);
});

test('planning a rekeyed event again changes nothing, nor does an older replay that is reset', async () => {
  await deadLetteredExternal();
  await deploy([chargeCard(renewed)], { worker: false });
  const context = { ...app.onefold[operationsContext], searchAttributes: [] };
  const [row] = await stage.sql('SELECT input FROM onefold.events WHERE event_key = $1', [key]);
  const replayOf = (from: string, to: string): ProcessEventInput => ({
    ...(JSON.parse(row?.input) as ProcessEventInput),
    replay: {
      id: 'r',
      by: 'b',
      reason: 'r',
      at: new Date().toISOString(),
      rekey: [{ effect: 'charge-card', from, to }],
    },
  });
  const planned = (businessKey: string) => ({ kind: 'planned', plan: { effects: [{ businessKey }] } });
  const first = replayOf(old(id), renewed(id));
  expect(await planEvent(context, key, first)).toMatchObject(planned(renewed(id)));
  expect(await planEvent(context, key, first)).toMatchObject(planned(renewed(id)));

  const newest = (order: string) => `newest:${order}`;
  await deploy([chargeCard(newest)], { worker: false });
  const next = { ...app.onefold[operationsContext], searchAttributes: [] };
  expect(await planEvent(next, key, replayOf(renewed(id), newest(id)))).toMatchObject(planned(newest(id)));
  expect(await planEvent(next, key, first)).toMatchObject(planned(newest(id)));
});

test.each([
  [
    'a key function that throws',
    () =>
      shipOrder(() => {
        throw new Error('a new defect');
      }),
    'planning_failed',
  ],
  ['a key function that returns a blank', () => shipOrder(() => ' '), 'business_key_invalid'],
])('with %s the recorded key stands, and the step warns', async (_what, broken, code) => {
  await deadLettered();
  await deploy([broken()]);
  const replayed = await app.onefold.replay(`shop/${id}`, bob);
  expect(replayed.steps).toMatchObject([
    { businessKey: old(id), action: 'perform', because: `not done; key not recomputed: ${code}` },
  ]);
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
  expect(await shipments()).toEqual([old(id)]);
});

test.each([
  ['nothing', undefined, 'perform', 'not done'],
  ['released', { state: 'released' }, 'perform', 'not done'],
  ['done by another', { state: 'done', result: '1', event: 'shop/other' }, 'skip', 'done by shop/other'],
  ['unknown', { state: 'unknown', in_doubt: true, lease: '-1 second' }, 'recover', 'outcome unknown: forwardsKey'],
  ['vanished', { state: 'claimed', lease: '-1 second' }, 'recover', 'outcome unknown: forwardsKey'],
  ['running', { state: 'claimed', lease: '1 hour' }, 'wait', /^an attempt for shop\/.* has a lease until \d{4}-/],
  ['parked', { state: 'parked', in_doubt: true }, 'wait', 'parked: needs onefold resolve'],
  [
    'performed',
    { state: 'performed', result: '1', lease: '-1 second' },
    'perform',
    'the call is made, its commit is not',
  ],
  [
    'cut off while committing',
    { state: 'claimed', result: '1', lease: '-1 second' },
    'perform',
    'the call is made, its commit is not',
  ],
])('a claim that is %s says what the replay will do', async (_what, claim, action, because) => {
  await deadLetteredExternal(claim);
  const { steps } = await app.onefold.replay(`shop/${id}`, { ...bob, dryRun: true });
  const why = typeof because === 'string' ? because : expect.stringMatching(because);
  expect(steps).toEqual([{ effect: 'charge-card', businessKey: old(id), action, because: why }]);
});

test.each([
  ['a word', 'yes'],
  ['nothing of use', [null, 7, {}]],
])('a run started by hand with %s for its rekeying keeps the recorded keys', async (_what, rekey) => {
  await deadLetteredExternal();
  await deploy([chargeCard(old)]);
  const [row] = await stage.sql('SELECT input FROM onefold.events WHERE event_key = $1', [key]);
  const input = { ...JSON.parse(row?.input), replay: { id: 'x', by: 'x', reason: 'x', at: 'x', rekey } };
  const run = await stage.client.workflow.start('processEvent', {
    workflowId: key,
    taskQueue: stage.taskQueue,
    args: [input],
  });
  expect(await run.result()).toMatchObject({ outcome: 'done', effects: [{ businessKey: old(id) }] });
});
