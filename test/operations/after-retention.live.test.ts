import { randomUUID } from 'node:crypto';
import { Connection, WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from './support/stage.js';

/** How often the code of the effect ran, by order; and orders for which it fails. */
const ran = new Map<string, number>();
const failing = new Set<string>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { maximumAttempts: 1 },
  commit: async ({ event, tx }) => {
    const { order } = event.data;
    ran.set(order, (ran.get(order) ?? 0) + 1);
    if (failing.has(order)) throw new Error('the warehouse said no');
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [order]);
    return { shipment: `shp_${order}` };
  },
});

let stage: Stage;
let app: Deployed;

beforeAll(async () => {
  const namespace = `forgetful-${randomUUID()}`;
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 2 as never },
  });
  await connection.close();
  stage = await createStage({ namespace, setup: 'CREATE TABLE shipments (order_id text NOT NULL)' });
  app = stage.deploy([shipOrder]);
  // A namespace takes a moment to be known to all parts of the server.
  await until('the namespace', () =>
    stage.client.workflow.count().then(
      () => true,
      () => false,
    ),
  );
  await app.startWorker();
});
afterAll(() => stage?.close());

const shipments = (order: string) => stage.sql('SELECT order_id FROM shipments WHERE order_id = $1', [order]);
const handleOf = (order: string) => stage.client.workflow.getHandle(`event//shop/${order}`);
const forgotten = (order: string) =>
  until('the end of the retention', () =>
    handleOf(order)
      .describe()
      .then(
        () => false,
        (error) => error instanceof WorkflowNotFoundError,
      ),
  );

test('redelivered-after-completion-and-after-retention: a first run for the engine, already done for the effect', async () => {
  const order = randomUUID();
  expect(await app.deliver(order)).toMatchObject({ status: 202, path: 'first_run' });
  await handleOf(order).result();
  const result = { 'ship-order': { shipment: `shp_${order}` } };
  const anHourLater = await app.deliver(order);
  expect(anHourLater).toMatchObject({ status: 200, path: 'duplicate_done' });
  await forgotten(order);

  const daysLater = await app.deliver(order);
  expect(daysLater).toMatchObject({ status: 202, path: 'first_run' });
  expect(await handleOf(order).result()).toMatchObject({
    outcome: 'already_done',
    effects: [{ outcome: 'already_done', attempts: 0, result: { json: JSON.stringify(result['ship-order']) } }],
  });
  const answered = await app.deliver(order);
  expect(answered.path).toBe('duplicate_done');
  expect(answered.json.result).toEqual(anHourLater.json.result);
  expect(ran.get(order)).toBe(1);
  expect(await shipments(order)).toHaveLength(1);
});

test('a dead-lettered event that Temporal has forgotten is replayed from the ledger', async () => {
  const order = randomUUID();
  failing.add(order);
  await app.deliver(order);
  await handleOf(order)
    .result()
    .catch(() => {});
  await forgotten(order);
  failing.delete(order);

  const replayed = await app.onefold.replay(`shop/${order}`, { by: 'bob', reason: 'mended' });
  expect(replayed).toMatchObject({ outcome: 'started', state: { ledger: 'dead_lettered', temporal: 'forgotten' } });
  expect(await handleOf(order).result()).toMatchObject({ outcome: 'done' });
  expect(await shipments(order)).toHaveLength(1);
  const [letter] = await stage.sql('SELECT closed_by FROM onefold.dead_letters WHERE event_id = $1', [order]);
  expect(letter).toEqual({ closed_by: 'completion' });

  await forgotten(order);
  const again = await app.onefold.replay(`shop/${order}`, { by: 'bob', reason: 'again' });
  expect(again).toMatchObject({ outcome: 'nothing_to_do', state: { ledger: 'done', temporal: 'forgotten' } });
});

test('an event that was forgotten with its body gone is refused as payload_missing', async () => {
  const order = randomUUID();
  failing.add(order);
  await app.deliver(order);
  await handleOf(order)
    .result()
    .catch(() => {});
  await forgotten(order);
  await stage.sql('DELETE FROM onefold.payloads WHERE event_key = $1', [`event//shop/${order}`]);
  await expect(app.onefold.replay(`shop/${order}`, { by: 'bob', reason: 'mended' })).rejects.toMatchObject({
    code: 'payload_missing',
    message: expect.stringContaining('let the provider send it again'),
  });
});
