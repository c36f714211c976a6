import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SweepResult } from '../../src/workflows/contract.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { createGate, type Gate } from './support/gate.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { until } from './support/until.js';

const gates = new Map<string, Gate>();
const failing = new Set<string>();
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { initialInterval: '1 hour' },
  commit: async ({ event, tx }) => {
    const { order } = event.data;
    await gates.get(order)?.pass();
    if (failing.has(order)) throw new Error('the warehouse said no');
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [order]);
    return { order };
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

const lettersOf = (id: string) =>
  harness.sql(
    'SELECT code, occurrences, runs, input, closed_at, last_at FROM onefold.dead_letters WHERE event_id = $1',
    [id],
  );

/** An event whose first attempt failed and whose next one is an hour away. */
async function pausing(): Promise<{ id: string; handle: WorkflowHandle; event: ReturnType<typeof orderPaid> }> {
  const event = orderPaid();
  failing.add(event.id);
  const handle = await harness.start(event);
  await until('the pause', () =>
    harness.lines.some(({ msg, eventKey }) => msg === 'effect.failed' && eventKey === harness.key(event)),
  );
  return { id: event.id, handle, event };
}

async function sweep(): Promise<SweepResult> {
  return harness.client.workflow.execute('sweepClosedEvents', {
    workflowId: `sweep-by-hand-${Math.random()}`,
    taskQueue: harness.taskQueue,
    args: [],
  });
}

async function listed(handle: WorkflowHandle, status: string): Promise<void> {
  await until(`${status} in visibility`, async () => {
    const query = `WorkflowId = '${handle.workflowId}' AND ExecutionStatus = '${status}'`;
    return (await harness.client.workflow.count(query)).count > 0;
  });
}

test('the sweeper finds a terminated event and writes its one dead letter; sweeping again changes nothing', async () => {
  const { id, handle } = await pausing();
  await handle.terminate('an operator');
  await listed(handle, 'Terminated');
  expect(await sweep()).toEqual({ looked: 1, deadLettered: 1, failed: 0 });
  const [letter] = await lettersOf(id);
  expect(letter).toMatchObject({ code: 'terminated', occurrences: 1, closed_at: null });
  expect(JSON.parse(letter?.input)).toMatchObject({ source: 'shop', id, type: 'order.paid' });
  const [event] = await harness.sql('SELECT * FROM onefold.events WHERE event_id = $1', [id]);
  expect(event).toMatchObject({ state: 'dead_lettered' });

  const metric = async () =>
    (await harness.metrics.deadLetters.get()).values.find(({ labels }) => labels.code === 'terminated')?.value;
  const counted = await metric();
  expect(await sweep()).toMatchObject({ deadLettered: 0, failed: 0 });
  expect(await lettersOf(id)).toEqual([letter]);
  expect(await harness.sql('SELECT * FROM onefold.events WHERE event_id = $1', [id])).toEqual([event]);
  expect(await metric()).toBe(counted);
});

test('a terminated event that was started again is done once, and the sweeper leaves it alone', async () => {
  const { id, handle, event } = await pausing();
  await handle.terminate('an operator');
  failing.delete(id);
  const again = await harness.client.workflow.start('processEvent', {
    workflowId: handle.workflowId,
    taskQueue: harness.taskQueue,
    args: [harness.input(event)],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    workflowIdConflictPolicy: 'FAIL',
  });
  expect((await resultOf(again)).outcome).toBe('done');
  await listed(handle, 'Terminated');
  await sweep();
  expect(await lettersOf(id)).toEqual([]);
  expect(await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).toHaveLength(1);
});

test('a terminated run that a later one has taken over gets no dead letter while that one runs', async () => {
  const { id, handle, event } = await pausing();
  await handle.terminate('an operator');
  const again = await harness.start(event);
  await listed(handle, 'Terminated');
  await sweep();
  expect(await lettersOf(id)).toEqual([]);
  await again.terminate();
});

test('an event terminated right after its effect was committed gets no dead letter', async () => {
  const event = orderPaid();
  const gate = createGate();
  gates.set(event.id, gate);
  const handle = await harness.start(event);
  await gate.reached;
  await handle.terminate('while the attempt runs');
  gate.open();
  await until(
    'the row',
    async () => (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [event.id])).length > 0,
  );
  await listed(handle, 'Terminated');
  await sweep();
  expect(await lettersOf(event.id)).toEqual([]);
});

test('one run that cannot be read does not keep the sweeper from the others', async () => {
  const { id, handle } = await pausing();
  const malformed = await harness.client.workflow.start('processEvent', {
    workflowId: `event//shop/${'no%00text'}${Math.random()}`,
    taskQueue: `${harness.taskQueue}-nobody`,
    args: ['not an event'],
  });
  await malformed.terminate();
  await handle.terminate('an operator');
  await listed(handle, 'Terminated');
  await sweep();
  expect(await lettersOf(id)).toHaveLength(1);
});

test('cancel leaves a dead letter and a cancelled run, and the sweeper does not count it twice', async () => {
  const { id, handle } = await pausing();
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  const letters = await lettersOf(id);
  expect(letters).toMatchObject([{ code: 'cancelled', occurrences: 1, closed_at: null }]);
  await listed(handle, 'Canceled');
  await sweep();
  expect(await lettersOf(id)).toEqual(letters);
});

test('cancel during an attempt waits for its end, and an effect that took hold after all completes the event', async () => {
  const event = orderPaid();
  const gate = createGate();
  gates.set(event.id, gate);
  const handle = await harness.start(event);
  await gate.reached;
  await handle.cancel();
  gate.open();
  await handle.result().catch(() => {});
  const rows = await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [event.id]);
  const [state] = await harness.sql('SELECT state FROM onefold.events WHERE event_id = $1', [event.id]);
  expect(state?.state).toBe(rows.length === 1 ? 'done' : 'dead_lettered');
  expect(await lettersOf(event.id)).toHaveLength(1 - rows.length);
});

test('an event has neither an execution timeout nor a run timeout', async () => {
  const { handle } = await pausing();
  const { raw } = await handle.describe();
  const { workflowExecutionTimeout, workflowRunTimeout } = raw.executionConfig ?? {};
  expect([Number(workflowExecutionTimeout?.seconds ?? 0), Number(workflowRunTimeout?.seconds ?? 0)]).toEqual([0, 0]);
  await handle.terminate();
});

test('a worker leaves a schedule behind that sweeps every ten minutes', async () => {
  const schedule = await harness.client.schedule.getHandle(`onefold-sweep/${harness.taskQueue}`).describe();
  expect(schedule.action).toMatchObject({ workflowType: 'sweepClosedEvents', taskQueue: harness.taskQueue });
  expect(schedule.spec.intervals).toMatchObject([{ every: 600_000 }]);
});
