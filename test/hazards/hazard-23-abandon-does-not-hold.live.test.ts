import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordAct } from '../../src/ledger/record-act.js';
import type { AbandonAnswer } from '../../src/workflows/contract.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { createGate, type Gate } from './support/gate.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { temporalCli } from './support/temporal-cli.js';
import { until } from './support/until.js';

const failing = new Set<string>();
const gates = new Map<string, Gate>();
const unplannable = new Set<string>();
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  retry: { initialInterval: '1 hour' },
  businessKey: ({ data }) => {
    if (unplannable.has(data.order)) throw new Error('no key yet');
    return `shipment:${data.order}`;
  },
  commit: async ({ event, tx, attempt }) => {
    const { order } = event.data;
    if (attempt > 1 || !failing.has(order)) await gates.get(order)?.pass();
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

type Order = ReturnType<typeof orderPaid>;
const rowsOf = async ({ id }: Order) => (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).length;
const seen = (event: Order, message: string) =>
  until(message, () => harness.lines.some(({ msg, eventKey }) => msg === message && eventKey === harness.key(event)));
const stateOf = async ({ id }: Order) =>
  (await harness.sql('SELECT state, abandoned_by, abandoned_reason FROM onefold.events WHERE event_id = $1', [id]))[0];

/** `temporal workflow update execute --name abandon`, as an operator types it. */
async function abandon(event: Order, updateId?: string): Promise<AbandonAnswer> {
  const answer = await temporalCli([
    ...['workflow', 'update', 'execute', '--name', 'abandon', '-w', harness.key(event), '-o', 'json'],
    ...['--input', '{"by":"ann","reason":"the customer left"}'],
    ...(updateId ? ['--update-id', updateId] : []),
  ]);
  expect(answer, answer.text).toMatchObject({ ok: true });
  return JSON.parse(answer.text.slice(answer.text.indexOf('{'))).result as AbandonAnswer;
}
const by = { by: 'ann', reason: 'the customer left' };

/** A replay as the command starts one: the act first, then the run. */
async function replay(event: Order) {
  const act = { id: `replay-${event.id}`, by: 'bob', reason: 'the customer is back', at: new Date().toISOString() };
  await recordAct(harness.ledger.database.query, harness.ledger.schema, {
    tenant: '',
    id: act.id,
    kind: 'replay',
    eventKey: harness.key(event),
    actor: act.by,
    reason: act.reason,
    seen: '[]',
    outcome: 'asked',
  });
  return harness.start({ ...event, replay: act });
}

async function pausing(): Promise<Order> {
  const event = orderPaid();
  failing.add(event.id);
  await harness.start(event);
  await seen(event, 'effect.failed');
  return event;
}

test('a reset to after the plan, as the operating page shows it, runs nothing of an abandoned event', async () => {
  const event = await pausing();
  expect(await abandon(event)).toMatchObject({ abandoned: true });
  failing.delete(event.id);
  const handle = harness.client.workflow.getHandle(harness.key(event));
  const { events } = await handle.fetchHistory();
  // The first boundary after the plan and the first attempt: what follows would be the second attempt.
  const boundary = events?.filter(
    ({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes,
  )[1];
  const reset = await temporalCli([
    ...['workflow', 'reset', '-w', harness.key(event), '--event-id', String(boundary?.eventId)],
    ...['--reason', 'a test', '--reapply-exclude', 'All'],
  ]);
  expect(reset, reset.text).toMatchObject({ ok: true });
  await handle.signal('retryNow').catch(() => {});
  expect(await resultOf(handle)).toMatchObject({ outcome: 'abandoned', abandoned: by });
  expect(await rowsOf(event)).toBe(0);
});

test('abandoned during a pause: the run completes so, and a new start answers so and runs nothing', async () => {
  const event = await pausing();
  expect(await abandon(event)).toMatchObject({ abandoned: true, effects: [{ outcome: 'abandoned' }] });
  const handle = harness.client.workflow.getHandle(harness.key(event));
  expect(await resultOf(handle)).toMatchObject({ outcome: 'abandoned', abandoned: by });
  expect((await handle.describe()).status.name).toBe('COMPLETED');
  expect(await stateOf(event)).toEqual({ state: 'abandoned', abandoned_by: 'ann', abandoned_reason: by.reason });

  failing.delete(event.id);
  expect(await resultOf(await harness.start(event))).toMatchObject({
    outcome: 'abandoned',
    abandoned: by,
    effects: [],
  });
  expect(await rowsOf(event)).toBe(0);
});

test('only a replay lifts it, and then the effect runs', async () => {
  const event = await pausing();
  await abandon(event);
  failing.delete(event.id);
  expect(await resultOf(await replay(event))).toMatchObject({ outcome: 'done' });
  expect(await rowsOf(event)).toBe(1);
  expect(await stateOf(event)).toMatchObject({ state: 'done', abandoned_by: null });
});

test('abandoned during a running attempt: it is told to stop, its end is awaited, and nothing is written', async () => {
  const event = await pausing();
  failing.delete(event.id);
  const gate = createGate();
  gates.set(event.id, gate);
  await harness.client.workflow.getHandle(harness.key(event)).signal('retryNow');
  await gate.reached;
  const answer = await abandon(event);
  gate.open();
  expect(answer).toMatchObject({ abandoned: true, effects: [{ outcome: 'abandoned' }] });
  expect(await resultOf(harness.client.workflow.getHandle(harness.key(event)))).toMatchObject({ outcome: 'abandoned' });
  expect(await rowsOf(event)).toBe(0);
  const claims = await harness.sql('SELECT 1 FROM onefold.effects WHERE business_key = $1', [`shipment:${event.id}`]);
  expect(claims).toEqual([]);
});

test('abandoned during the first attempt, which runs inside the workflow task', async () => {
  const event = orderPaid();
  const gate = createGate();
  gates.set(event.id, gate);
  await harness.start(event);
  await gate.reached;
  const answer = await abandon(event);
  gate.open();
  const rows = await rowsOf(event);
  expect(answer.abandoned).toBe(rows === 0);
  expect((await stateOf(event))?.state).toBe(rows === 0 ? 'abandoned' : 'done');
});

test('abandoned while it still plans', async () => {
  const event = orderPaid();
  unplannable.add(event.id);
  await harness.start(event);
  await seen(event, 'webhook.plan_failed');
  expect(await abandon(event)).toEqual({ abandoned: true, effects: [] });
  unplannable.delete(event.id);
  expect(await resultOf(await harness.start(event))).toMatchObject({ outcome: 'abandoned' });
  expect(await rowsOf(event)).toBe(0);
});

test('the same update, applied again by a reset, is not carried out again', async () => {
  const event = await pausing();
  await abandon(event, 'act-1');
  failing.delete(event.id);
  const gate = createGate();
  gates.set(event.id, gate);
  const replayed = await replay(event);
  await gate.reached;
  gate.open();
  await resultOf(replayed);
  const reset = await temporalCli([
    ...['workflow', 'reset', '-w', harness.key(event), '--type', 'FirstWorkflowTask', '--reason', 'a test'],
    ...['--run-id', (await firstRun(event)) ?? ''],
  ]);
  expect(reset, reset.text).toMatchObject({ ok: true });
  const result = await resultOf(harness.client.workflow.getHandle(harness.key(event)));
  expect(result.outcome).toBe('already_done');
  const acts = await harness.sql('SELECT id, kind FROM onefold.acts WHERE event_key = $1 ORDER BY at', [
    harness.key(event),
  ]);
  expect(acts).toEqual([
    { id: `${harness.key(event)}#act-1`, kind: 'abandon' },
    { id: `replay-${event.id}`, kind: 'replay' },
  ]);
  expect(await rowsOf(event)).toBe(1);
});
async function firstRun(event: Order): Promise<string | undefined> {
  const runs = [];
  for await (const run of harness.client.workflow.list({ query: `WorkflowId = '${harness.key(event)}'` }))
    runs.push(run);
  return runs.toSorted((one, other) => one.startTime.getTime() - other.startTime.getTime())[0]?.runId;
}

test('one update id on two events abandons both', async () => {
  for (const event of [await pausing(), await pausing()]) {
    expect(await abandon(event, 'incident-7')).toMatchObject({ abandoned: true });
  }
});

test('a reset of an abandoned event leaves it abandoned', async () => {
  const event = await pausing();
  await abandon(event);
  failing.delete(event.id);
  await temporalCli([
    'workflow',
    'reset',
    '-w',
    harness.key(event),
    '--type',
    'FirstWorkflowTask',
    '--reason',
    'a test',
  ]);
  expect(await resultOf(harness.client.workflow.getHandle(harness.key(event)))).toMatchObject({ outcome: 'abandoned' });
  expect(await rowsOf(event)).toBe(0);
});

test('a reset of a replay that was abandoned in its turn leaves it abandoned', async () => {
  const event = await pausing();
  await abandon(event);
  await replay(event);
  await until(
    'the second failure',
    () =>
      harness.lines.filter(({ msg, eventKey }) => msg === 'effect.failed' && eventKey === harness.key(event)).length ===
      2,
  );
  await abandon(event);
  failing.delete(event.id);
  await temporalCli([
    'workflow',
    'reset',
    '-w',
    harness.key(event),
    '--type',
    'FirstWorkflowTask',
    '--reason',
    'a test',
  ]);
  const result = await resultOf(harness.client.workflow.getHandle(harness.key(event)));
  expect(result.outcome).toBe('abandoned');
  expect(await rowsOf(event)).toBe(0);
});

test('an event whose effect was done meanwhile is not abandoned', async () => {
  const event = await pausing();
  const other = { ...orderPaid(), id: event.id };
  failing.delete(event.id);
  // The same event done beside this run, as an attempt does whose answer was lost.
  await harness.sql(
    `WITH done AS (
       INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest, done_at, result)
       VALUES ('', 'ship-order', $1, 'done', 1, gen_random_uuid(), $2, $3, '', now(), '7')
     ), ended AS (UPDATE onefold.event_effects SET outcome = 'done' WHERE event_key = $2)
     UPDATE onefold.events SET state = 'done', remaining = 0 WHERE event_key = $2`,
    [`shipment:${event.id}`, harness.key(event), `shop/${other.id}`],
  );
  const answer = await abandon(event);
  expect(answer).toMatchObject({ abandoned: false, effects: [{ outcome: 'done', result: { json: '7' } }] });
  expect(await resultOf(harness.client.workflow.getHandle(harness.key(event)))).toMatchObject({ outcome: 'done' });
});

test('an abandon without a name or a reason is refused, and the event goes on', async () => {
  const event = await pausing();
  for (const input of ['{"by":" ","reason":"x"}', '{"by":"ann"}', 'null']) {
    const answer = await temporalCli([
      ...['workflow', 'update', 'execute', '--name', 'abandon', '-w', harness.key(event), '--input', input],
    ]);
    expect(answer.ok).toBe(false);
  }
  const handle = harness.client.workflow.getHandle(harness.key(event));
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await handle.terminate();
});
