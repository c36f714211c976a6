import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGate, type Gate } from '../hazards/support/gate.js';
import { nudged } from '../hazards/support/nudged.js';
import { orderPaid, shipmentsTable, shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';

const gates = new Map<string, Gate>();
const failing = new Set<string>();
const names = ['ship-order', 'send-mail', 'book-it'];
const effects = names.map((name) =>
  shop.effect(name, {
    on: 'order.paid',
    businessKey: ({ data }) => `${name}:${data.order}`,
    retry: { initialInterval: 50, maximumInterval: 50, maximumAttempts: 2 },
    commit: async ({ event, tx }) => {
      if (failing.has(`${name} ${event.data.order}`)) throw new Error('no');
      await gates.get(event.data.order)?.pass();
      await tx.query('INSERT INTO shipments (order_id, by_effect) VALUES ($1, $2)', [event.data.order, name]);
      return { by: event.id };
    },
  }),
);

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

const rowsOf = (order: string) =>
  harness.sql<{ by_effect: string }>('SELECT by_effect FROM shipments WHERE order_id = $1 ORDER BY 1', [order]);

test('a second event on a key waits without spending an attempt, then reports what the first did', async () => {
  const first = orderPaid();
  const second = { ...orderPaid(), body: first.body };
  const gate = createGate();
  gates.set(first.id, gate);
  const firstHandle = await harness.start(first);
  await gate.reached;
  const secondHandle = await harness.start(second);
  await until('the second event waits', () =>
    harness.lines.some(
      ({ msg, eventKey, code }) =>
        msg === 'effect.waiting' && eventKey === secondHandle.workflowId && code === 'claim_waiting',
    ),
  );
  gate.open();
  const done = await resultOf(firstHandle);
  const already = await nudged([secondHandle], () => resultOf(secondHandle));
  expect(done.effects[0]).toMatchObject({ outcome: 'done', result: { json: `{"by":"${first.id}"}` } });
  expect(already).toMatchObject({
    outcome: 'already_done',
    effects: [{ outcome: 'already_done', attempts: 1, doneBy: `shop/${first.id}`, result: done.effects[0]?.result }],
  });
  expect(await rowsOf(first.id)).toHaveLength(1);
});

test('twenty events on one key at once have one effect', async () => {
  const first = orderPaid();
  const events = [first, ...Array.from({ length: 19 }, () => ({ ...orderPaid(), body: first.body }))];
  const handles = await Promise.all(events.map((event) => harness.start(event)));
  const results = await Promise.all(handles.map(resultOf));
  // Whose answer was lost with its workflow task finds its own work in the ledger, so that even the first may say so.
  expect(results.filter(({ outcome }) => outcome === 'already_done').length).toBeGreaterThanOrEqual(19);
  expect(new Set(results.map(({ effects: [end] }) => JSON.stringify(end?.result))).size).toBe(1);
  expect(await rowsOf(first.id)).toHaveLength(1);
});

test('an event with other data that collapses onto a done key is a warning and a metric', async () => {
  const first = orderPaid({ amount: 1 });
  await resultOf(await harness.start(first));
  const other = { ...orderPaid(), body: { type: 'order.paid', data: { order: first.id, amount: 2 } } };
  const result = await resultOf(await harness.start(other));
  expect(result.effects[0]).toMatchObject({ outcome: 'already_done', otherData: true });
  const warning = harness.lines.find(
    ({ msg, eventKey }) => msg === 'effect.other_data' && eventKey === harness.key(other),
  );
  expect(warning).toMatchObject({ level: 'warn', code: 'other_data', doneBy: `shop/${first.id}` });
  const { values } = await harness.metrics.otherData.get();
  expect(values).toEqual([{ labels: { effect: 'ship-order' }, value: 1 }]);
});

test('of several effects one fails for good and the others are done; a later run does only the rest', async () => {
  const event = orderPaid({}, { effects: names });
  failing.add(`send-mail ${event.id}`);
  await expect((await harness.start(event)).result()).rejects.toThrow();
  expect(await rowsOf(event.id)).toEqual([{ by_effect: 'book-it' }, { by_effect: 'ship-order' }]);
  const [letter] = await harness.sql('SELECT code, message, effects FROM onefold.dead_letters WHERE event_id = $1', [
    event.id,
  ]);
  expect(letter).toMatchObject({ code: 'budget_spent', message: expect.stringContaining('send-mail') });
  expect(JSON.parse(letter?.effects)).toMatchObject([
    { effect: 'ship-order', outcome: 'done' },
    { effect: 'send-mail', outcome: 'failed', attempts: 2 },
    { effect: 'book-it', outcome: 'done' },
  ]);

  failing.clear();
  const result = await resultOf(await harness.start(event));
  const outcomes = Object.fromEntries(
    result.effects.map(({ effect, outcome, attempts }) => [effect, { outcome, attempts }]),
  );
  expect(outcomes).toEqual({
    'ship-order': { outcome: 'already_done', attempts: 0 },
    'send-mail': { outcome: 'done', attempts: 1 },
    'book-it': { outcome: 'already_done', attempts: 0 },
  });
  expect(await rowsOf(event.id)).toEqual([
    { by_effect: 'book-it' },
    { by_effect: 'send-mail' },
    { by_effect: 'ship-order' },
  ]);
});
