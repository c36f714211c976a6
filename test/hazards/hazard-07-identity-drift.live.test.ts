import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Configuration, createHarness, type Harness, type RunningWorker, resultOf } from '../setup/harness.js';
import { nudged } from './support/nudged.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { until } from './support/until.js';

const failing = new Set<string>();

/** The effect as one deploy has it. */
function shipOrder(deploy: { name?: string; key?: string; formerly?: string | string[] } = {}) {
  return shop.effect(deploy.name ?? 'ship-order', {
    on: 'order.paid',
    businessKey: ({ data }) => `${deploy.key ?? 'shipment'}:${data.order}`,
    retry: { maximumAttempts: 1 },
    ...(deploy.formerly ? { formerly: deploy.formerly } : {}),
    commit: async ({ event, tx, businessKey }) => {
      if (failing.has(event.data.order)) throw new Error('the warehouse said no');
      await tx.query('INSERT INTO shipments (order_id, by_effect) VALUES ($1, $2)', [
        event.data.order,
        `${businessKey} ${event.data.note ?? ''}`.trim(),
      ]);
      return { note: (event.data.note as string) ?? null };
    },
  });
}
const configuration = (...effects: ReturnType<typeof shipOrder>[]): Configuration => ({ sources: [shop], effects });

let harness: Harness;
let worker: RunningWorker;
beforeAll(async () => {
  harness = await createHarness(configuration(shipOrder()), { setup: shipmentsTable, worker: false });
});
afterAll(() => harness?.close());

/** Stops the worker of the deploy before and starts one of the next. */
async function deploy(...effects: ReturnType<typeof shipOrder>[]): Promise<void> {
  await worker?.stop();
  worker = await harness.worker(configuration(...effects));
}
async function failedOnce(data: Record<string, unknown> = {}) {
  const event = orderPaid(data);
  failing.add(event.id);
  await expect((await harness.start(event)).result()).rejects.toThrow();
  failing.delete(event.id);
  return event;
}
const shipments = async (order: string) =>
  (await harness.sql<{ by_effect: string }>('SELECT by_effect FROM shipments WHERE order_id = $1', [order])).map(
    (row) => row.by_effect,
  );

test('a redelivery after a deploy with another key function keeps the recorded key', async () => {
  await deploy(shipOrder());
  const event = await failedOnce();
  await deploy(shipOrder({ key: 'parcel' }));
  const result = await resultOf(await harness.start(event));
  expect(result.effects[0]).toMatchObject({ outcome: 'done', businessKey: `shipment:${event.id}` });
  expect(await shipments(event.id)).toEqual([`shipment:${event.id}`]);
});

test('a key function that now throws does not keep a recorded event from its end', async () => {
  await deploy(shipOrder());
  const event = await failedOnce();
  const broken = {
    ...shipOrder(),
    businessKey: () => {
      throw new Error('a new defect');
    },
  };
  await deploy(broken);
  const result = await resultOf(await harness.start(event));
  expect(result.effects[0]).toMatchObject({ outcome: 'done', businessKey: `shipment:${event.id}` });
});

test('a redelivery with another body runs the recorded body', async () => {
  await deploy(shipOrder());
  const event = await failedOnce({ note: 'genuine' });
  const forged = { ...event, body: { type: 'order.paid', data: { order: event.id, note: 'forged' } } };
  const result = await resultOf(await harness.start(forged));
  expect(result.effects[0]?.result).toEqual({ json: '{"note":"genuine"}' });
  expect(await shipments(event.id)).toEqual([`shipment:${event.id} genuine`]);
});

test('a redelivery that names another type runs the recorded type', async () => {
  await deploy(shipOrder());
  const event = await failedOnce();
  const handle = await harness.start({ ...event, type: 'order.refunded' });
  const outcome = await Promise.race([
    resultOf(handle).then(({ outcome }) => outcome),
    new Promise((resolve) => setTimeout(resolve, 4000, 'still running')),
  ]);
  await handle.terminate().catch(() => {});
  expect(outcome).toBe('done');
});

test('a redelivery keeps the recorded list of effects; only a replay adds newer ones', async () => {
  await deploy(shipOrder());
  const event = await failedOnce();
  const sendMail = shipOrder({ name: 'send-mail', key: 'mail' });
  await deploy(shipOrder(), sendMail);
  const redelivered = { ...event, effects: ['ship-order', 'send-mail'] };
  const first = await resultOf(await harness.start(redelivered));
  expect(first.effects.map(({ effect }) => effect)).toEqual(['ship-order']);

  const replay = { id: 'replay-1', by: 'ann', reason: 'the new mail', at: new Date().toISOString() };
  const second = await resultOf(await harness.start({ ...redelivered, replay }));
  expect(second.effects.map(({ effect, outcome }) => ({ effect, outcome }))).toEqual([
    { effect: 'ship-order', outcome: 'already_done' },
    { effect: 'send-mail', outcome: 'done' },
  ]);
  expect(await shipments(event.id)).toEqual([`shipment:${event.id}`, `mail:${event.id}`]);
  const [row] = await harness.sql('SELECT state, remaining FROM onefold.events WHERE event_id = $1', [event.id]);
  expect(row).toEqual({ state: 'done', remaining: 0 });
});

test('a renamed effect with formerly finds its completions, side by side with an old worker', async () => {
  await deploy(shipOrder());
  const event = orderPaid();
  await resultOf(await harness.start(event));
  const old = worker;
  try {
    worker = await harness.worker(configuration(shipOrder({ name: 'dispatch-order', formerly: 'ship-order' })));

    const again = { ...orderPaid(), body: event.body };
    const second = await resultOf(await harness.start(again));
    expect(second.effects[0]).toMatchObject({ outcome: 'already_done', doneBy: `shop/${event.id}` });

    // A receiver of the new deploy names the new effect, one of the old deploy the old one; both claim the row of the old name.
    const order = orderPaid();
    const pair = [order, { ...orderPaid(), body: order.body, effects: ['dispatch-order'] }];
    const handles = await Promise.all(pair.map((one) => harness.start(one)));
    const results = await nudged(handles, () => Promise.all(handles.map(resultOf)));
    const outcomes = results.map(({ outcome }) => outcome);
    expect(outcomes).toContain('already_done');
    expect(await shipments(order.id)).toHaveLength(1);
    expect(
      await harness.sql('SELECT effect FROM onefold.effects WHERE business_key = $1', [`shipment:${order.id}`]),
    ).toContainEqual({ effect: 'ship-order' });
  } finally {
    await old.stop();
  }
});

test('names in any order, and completions made under the new name before formerly was declared, still count', async () => {
  await deploy(shipOrder({ name: 'c' }));
  const underC = orderPaid({}, { effects: ['c'] });
  await resultOf(await harness.start(underC));
  await deploy(shipOrder({ name: 'a' }));
  const underA = orderPaid({}, { effects: ['a'] });
  await resultOf(await harness.start(underA));

  for (const formerly of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    await deploy(shipOrder({ name: 'c', formerly }));
    for (const event of [underA, underC]) {
      const second = await resultOf(await harness.start({ ...orderPaid({}, { effects: ['c'] }), body: event.body }));
      expect(second.effects[0]).toMatchObject({ outcome: 'already_done', doneBy: `shop/${event.id}` });
      expect(await shipments(event.id)).toHaveLength(1);
    }
  }
});

test('a rename without formerly waits, and never runs the recorded effect under its new name', async () => {
  await deploy(shipOrder());
  const event = await failedOnce();
  await deploy(shipOrder({ name: 'dispatch-order' }));
  const handle = await harness.start({ ...event, effects: ['dispatch-order'] });
  await until('the wait', () =>
    harness.lines.some(({ msg, eventKey }) => msg === 'webhook.waiting' && eventKey === harness.key(event)),
  );
  expect(await shipments(event.id)).toEqual([]);
  expect(await harness.sql('SELECT 1 FROM onefold.effects WHERE business_key = $1', [`shipment:${event.id}`])).toEqual(
    [],
  );
  await deploy(shipOrder({ name: 'dispatch-order', formerly: 'ship-order' }));
  expect((await nudged([handle], () => resultOf(handle))).outcome).toBe('done');
  expect(await shipments(event.id)).toHaveLength(1);
});
