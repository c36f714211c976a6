import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { NotYetError } from '../../src/effects/errors.js';
import { startTemporalServer, type TemporalServer } from '../../src/runtime/embedded/temporal-server.js';
import { searchAttributeTypes } from '../../src/workflows/contract.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { nudged } from './support/nudged.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { until } from './support/until.js';

const open = new Set<string>();
const failedOnce = new Set<string>();
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query("INSERT INTO shipments (order_id, by_effect) VALUES ($1, 'ship-order')", [event.data.order]);
    return { shipped: event.data.order };
  },
});
const sendMail = shop.effect('send-mail', {
  on: 'order.paid',
  businessKey: ({ data }) => `mail:${data.order}`,
  retry: { initialInterval: 50, maximumInterval: 50, maximumAttempts: 3 },
  commit: async ({ event, tx, attempt }) => {
    const { order } = event.data;
    if (!failedOnce.has(order)) {
      failedOnce.add(order);
      throw new Error('a counted failure before the waits');
    }
    if (!open.has(order)) throw new NotYetError(20);
    await tx.query("INSERT INTO shipments (order_id, by_effect) VALUES ($1, 'send-mail')", [order]);
    return { attempt };
  },
});
const newcomer = shop.effect('newcomer', {
  on: 'order.paid',
  businessKey: ({ data }) => data.order,
  commit: async () => {},
});

let folder: string;
let server: TemporalServer;
let harness: Harness;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-history-'));
  server = await startTemporalServer({
    executable: inject('temporalExecutable'),
    folder,
    inMemory: true,
    port: 0,
    searchAttributes: searchAttributeTypes,
    dynamicConfig: ['limit.historyCount.suggestContinueAsNew=60'],
  });
  harness = await createHarness(
    { sources: [shop], effects: [shipOrder, sendMail] },
    { setup: shipmentsTable, address: server.address },
  );
});
afterAll(async () => {
  await harness?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function runsOf(workflowId: string): Promise<number> {
  let runs = 0;
  for await (const _run of harness.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs += 1;
  return runs;
}
const rowsOf = (id: string) => harness.sql('SELECT by_effect FROM shipments WHERE order_id = $1 ORDER BY 1', [id]);

/** An event whose second effect waits until its first run's history was long enough for another run. */
async function outgrown() {
  const event = orderPaid({}, { effects: ['ship-order', 'send-mail'] });
  const first = await harness.client.workflow.start('processEvent', {
    workflowId: harness.key(event),
    taskQueue: harness.taskQueue,
    args: [harness.input(event)],
  });
  const handle = harness.client.workflow.getHandle(first.workflowId);
  await nudged([handle], () =>
    until('a second run', async () => (await handle.describe()).runId !== first.firstExecutionRunId, 40_000),
  );
  return { event, handle };
}

test('a long wait continues as new with its attempts, reasons, results and budget', async () => {
  const { event, handle } = await outgrown();
  open.add(event.id);
  const result = await nudged([handle], () => resultOf(handle));
  expect(await runsOf(handle.workflowId)).toBeGreaterThan(1);
  expect(result).toMatchObject({
    outcome: 'done',
    effects: [
      { effect: 'ship-order', outcome: 'done', attempts: 1, result: { json: `{"shipped":"${event.id}"}` } },
      { effect: 'send-mail', outcome: 'done', attempts: 2, result: { json: '{"attempt":2}' } },
    ],
  });
  expect(await rowsOf(event.id)).toEqual([{ by_effect: 'send-mail' }, { by_effect: 'ship-order' }]);
});

test('abandon holds across the change of runs', async () => {
  const { event, handle } = await outgrown();
  const answer = await handle.executeUpdate('abandon', { args: [{ by: 'ann', reason: 'a test' }] });
  expect(answer).toMatchObject({
    abandoned: true,
    effects: [
      { effect: 'ship-order', outcome: 'done' },
      { effect: 'send-mail', outcome: 'abandoned', attempts: 1 },
    ],
  });
  expect(await resultOf(handle)).toMatchObject({ outcome: 'abandoned' });
  expect(await rowsOf(event.id)).toEqual([{ by_effect: 'ship-order' }]);
});

test('planning that waits for a worker continues as new too', async () => {
  const event = orderPaid({}, { effects: ['newcomer'] });
  const first = await harness.client.workflow.start('processEvent', {
    workflowId: harness.key(event),
    taskQueue: harness.taskQueue,
    args: [harness.input(event)],
  });
  const handle = harness.client.workflow.getHandle(first.workflowId);
  const untilNext = () =>
    until('a second run', async () => (await handle.describe()).runId !== first.firstExecutionRunId, 40_000);
  await nudged([handle], untilNext, 100);
  await harness.worker({ sources: [shop], effects: [shipOrder, sendMail, newcomer] });
  expect((await nudged([handle], () => resultOf(handle))).outcome).toBe('done');
});
