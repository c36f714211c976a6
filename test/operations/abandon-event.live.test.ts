import { randomUUID } from 'node:crypto';
import { Connection, WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { NotYetError } from '../../src/effects/errors.js';
import { shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from './support/stage.js';

const ran = new Map<string, number>();
const failing = new Set<string>();
const postponed = new Set<string>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { maximumAttempts: 1 },
  commit: async ({ event, tx }) => {
    const { order } = event.data;
    ran.set(order, (ran.get(order) ?? 0) + 1);
    if (postponed.has(order)) throw new NotYetError('1 hour');
    if (failing.has(order)) throw new Error('the warehouse said no');
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [order]);
  },
});

const bob = { by: 'bob', reason: 'the order was a test' };

let stage: Stage;
let app: Deployed;
let id: string;
let key: string;

beforeAll(async () => {
  // Temporal forgets what has ended after seconds.
  const namespace = `forgetful-${randomUUID()}`;
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 2 as never },
  });
  await connection.close();
  stage = await createStage({ namespace, setup: 'CREATE TABLE shipments (order_id text NOT NULL)' });
  app = stage.deploy([shipOrder]);
  const counted = () =>
    stage.client.workflow.count().then(
      () => true,
      () => false,
    );
  await until('the namespace', counted);
  await app.startWorker();
});
afterAll(() => stage?.close());
beforeEach(() => {
  id = randomUUID();
  key = `event//shop/${id}`;
});

const abandon = (options: object = {}) => app.onefold.abandon(`shop/${id}`, { ...bob, ...options });
const handle = () => stage.client.workflow.getHandle(key);
const closed = () =>
  handle()
    .result()
    .catch(() => undefined);
const forgotten = () =>
  until('the end of the retention', () =>
    handle()
      .describe()
      .then(
        () => false,
        (error) => error instanceof WorkflowNotFoundError,
      ),
  );
const row = async () =>
  (await stage.sql('SELECT state, abandoned_by, abandoned_reason FROM onefold.events WHERE event_key = $1', [key]))[0];
const letters = () => stage.sql('SELECT closed_by FROM onefold.dead_letters WHERE event_key = $1', [key]);
const acts = () =>
  stage.sql(`SELECT id, actor, reason, outcome FROM onefold.acts WHERE kind = 'abandon' AND event_key = $1`, [key]);
const abandonedRow = { state: 'abandoned', abandoned_by: 'bob', abandoned_reason: bob.reason };

async function deadLettered(): Promise<void> {
  failing.add(id);
  await app.deliver(id);
  await closed();
  failing.delete(id);
}

async function waitingToRun(): Promise<void> {
  postponed.add(id);
  await app.deliver(id);
  await until('the attempt', () => ran.get(id) === 1);
}

test('a running event completes as abandoned, with one act, however often the wish is repeated', async () => {
  await waitingToRun();
  const outcome = await abandon({ id: 'mine' });
  expect(outcome).toMatchObject({
    event: `shop/${id}`,
    id: 'mine',
    outcome: 'abandoned',
    state: { ledger: 'open', temporal: 'running' },
    effects: [{ effect: 'ship-order', state: 'not_done' }],
  });
  expect(await closed()).toMatchObject({ outcome: 'abandoned' });
  expect(await abandon({ id: 'mine' })).toMatchObject({ outcome: 'abandoned' });
  expect(await abandon({ by: 'eve' })).toMatchObject({ outcome: 'already_abandoned', abandoned: { by: 'bob' } });
  expect(await row()).toEqual(abandonedRow);
  expect(await acts()).toEqual([{ id: `${key}#mine`, actor: 'bob', reason: bob.reason, outcome: 'abandoned' }]);
});

test('a dead-lettered event is abandoned in the ledger: its dead letter is closed, and a redelivery runs nothing', async () => {
  await deadLettered();
  expect(await abandon({ dryRun: true })).toMatchObject({ outcome: 'dry_run', state: { ledger: 'dead_lettered' } });
  expect(await row()).toMatchObject({ state: 'dead_lettered' });
  expect(await acts()).toEqual([]);
  expect(await abandon()).toMatchObject({ outcome: 'abandoned' });
  expect(await row()).toEqual(abandonedRow);
  expect(await letters()).toEqual([{ closed_by: 'abandon' }]);
  expect(await acts()).toHaveLength(1);
  await app.deliver(id);
  expect(await closed()).toMatchObject({ outcome: 'abandoned', abandoned: bob });
  expect(ran.get(id)).toBe(1);
  expect(await letters()).toEqual([{ closed_by: 'abandon' }]);
});

test('an abandoned event stays abandoned when Temporal has forgotten it, and a replay takes it up again', async () => {
  await deadLettered();
  await forgotten();
  expect(await abandon({ id: 'mine' })).toMatchObject({ outcome: 'abandoned', state: { temporal: 'forgotten' } });
  expect(await app.deliver(id)).toMatchObject({ status: 202 });
  expect(await closed()).toMatchObject({ outcome: 'abandoned' });
  await forgotten();
  await app.deliver(id);
  expect(await closed()).toMatchObject({ outcome: 'abandoned' });
  expect(ran.get(id)).toBe(1);
  const replayed = await app.onefold.replay(`shop/${id}`, { by: 'bob', reason: 'no test after all' });
  expect(replayed.outcome).toBe('started');
  expect(await stage.client.workflow.getHandle(key, replayed.runId).result()).toMatchObject({ outcome: 'done' });
  expect(await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).toHaveLength(1);
  await expect(abandon({ id: 'mine' })).resolves.toMatchObject({ outcome: 'superseded' });
  await expect(abandon()).rejects.toMatchObject({ code: 'abandon_refused' });
});

test.each(['terminate', 'cancel'] as const)('an event that was closed by %s is abandoned', async (how) => {
  await waitingToRun();
  await handle()[how]();
  await closed();
  postponed.delete(id);
  expect(await abandon()).toMatchObject({ outcome: 'abandoned' });
  expect(await row()).toEqual(abandonedRow);
  await app.deliver(id);
  expect(await closed()).toMatchObject({ outcome: 'abandoned' });
  expect(ran.get(id)).toBe(1);
});

test('an event that was terminated before its plan is abandoned by its history, whose body is kept for a replay', async () => {
  await app.stopWorker();
  await app.deliver(id);
  await handle().terminate();
  expect(await abandon()).toMatchObject({ outcome: 'abandoned', state: { ledger: 'unknown' }, effects: [] });
  await forgotten();
  await app.startWorker();
  const { outcome } = await app.onefold.replay(`shop/${id}`, { by: 'bob', reason: 'no test after all' });
  expect(outcome).toBe('started');
  expect(await closed()).toMatchObject({ outcome: 'done' });
});

test('without a worker the wish to abandon a running event is refused as unavailable, and the same id carries it out later', async () => {
  await waitingToRun();
  await app.stopWorker();
  const outcome = await abandon({ id: 'mine' }).catch((error) => error);
  expect(outcome).toMatchObject({ code: 'temporal_unavailable' });
  await app.startWorker();
  expect(await abandon({ id: 'mine' })).toMatchObject({ outcome: 'abandoned' });
  expect(await acts()).toHaveLength(1);
}, 120_000);

test('what is done, and what nobody knows, is refused', async () => {
  await expect(abandon()).rejects.toMatchObject({ code: 'event_unknown' });
  await app.deliver(id);
  await closed();
  await expect(abandon()).rejects.toMatchObject({ code: 'abandon_refused' });
  await expect(abandon({ dryRun: true })).rejects.toMatchObject({ code: 'abandon_refused' });
  await expect(app.onefold.retryNow(`shop/${id}`, bob)).rejects.toMatchObject({ code: 'retry_refused' });
  await expect(abandon({ reason: ' ' })).rejects.toMatchObject({ code: 'abandon_refused' });
  await expect(app.onefold.retryNow('shop/nobody-knows', bob)).rejects.toMatchObject({ code: 'event_unknown' });
});
