import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { createGate, type Gate } from './support/gate.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { temporalCli } from './support/temporal-cli.js';
import { until } from './support/until.js';

const gates = new Map<string, { beforeWrite?: Gate; failFirst: boolean }>();
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { initialInterval: 50, maximumInterval: 100, maximumAttempts: 6 },
  commit: async ({ event, tx, attempt }) => {
    const plan = gates.get(event.data.order);
    // The first attempt is a local activity, which no hand can complete.
    if (plan && attempt === 1) throw new Error('the first attempt fails');
    if (plan && attempt === 2) await plan.beforeWrite?.pass();
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
    return { order: event.data.order };
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

const rowsOf = async (id: string) => (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).length;

/** An event whose second attempt, a regular activity, stands before its write. */
async function standing() {
  const event = orderPaid();
  const gate = createGate();
  gates.set(event.id, { beforeWrite: gate, failFirst: true });
  const handle = await harness.start(event);
  await gate.reached;
  return { event, gate, handle, activity: await pendingActivity(handle) };
}
async function pendingActivity(handle: WorkflowHandle): Promise<string> {
  return until(
    'a pending attempt',
    async () => (await handle.describe()).raw.pendingActivities?.[0]?.activityId ?? undefined,
  );
}
const byHand = (verb: readonly string[], handle: WorkflowHandle, activity: string) =>
  temporalCli(['activity', ...verb, '-w', handle.workflowId, '--activity-id', activity]);

test.each([
  ['null', 'null'],
  ['a result in a shape of its own', '{"byhand":true}'],
  ['an end without a fence', '{"kind":"ended","end":{"effect":"ship-order","outcome":"done","attempts":2}}'],
])(
  'an attempt completed by hand with %s is a failed attempt, and the effect still runs once',
  async (_what, result) => {
    const { event, gate, handle, activity } = await standing();
    const answer = await byHand(['complete', '--result', result], handle, activity);
    expect(answer).toMatchObject({ ok: true });
    const ended = await resultOf(handle);
    expect(ended.effects[0]).toMatchObject({ outcome: 'done', fence: 1, result: { json: `{"order":"${event.id}"}` } });
    expect(ended.effects[0]?.attempts).toBeGreaterThan(2);
    gate.open();
    expect(await rowsOf(event.id)).toBe(1);
  },
);

test('an attempt completed by hand after its commit counts by the ledger', async () => {
  const { event, handle, activity, gate } = await standing();
  // Another attempt, as a reset would start one, does the work while the hand completes this one.
  await byHand(['complete', '--result', 'null'], handle, activity);
  const ended = await resultOf(handle);
  gate.open();
  expect(ended.outcome).toBe('done');
  expect(await rowsOf(event.id)).toBe(1);
});

test('an attempt failed by hand is in the dead letters, unless the ledger has it as done', async () => {
  const { event, gate, handle, activity } = await standing();
  expect(await byHand(['fail', '--reason', 'poison'], handle, activity)).toMatchObject({ ok: true });
  await expect(handle.result()).rejects.toThrow();
  gate.open();
  const letters = await harness.sql('SELECT code, closed_at FROM onefold.dead_letters WHERE event_id = $1', [event.id]);
  expect(letters).toMatchObject([{ closed_at: null }]);
  expect(await rowsOf(event.id)).toBe(0);
});
