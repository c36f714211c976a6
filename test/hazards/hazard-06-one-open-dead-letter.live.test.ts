import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';

const failing = new Set<string>();
const effects = ['ship-order', 'send-mail'].map((name) =>
  shop.effect(name, {
    on: 'order.paid',
    businessKey: ({ data }) => `${name}:${data.order}`,
    retry: { maximumAttempts: 1 },
    commit: async ({ event, tx }) => {
      if (failing.has(`${name} ${event.data.order}`)) throw new Error(event.data.message as string);
      await tx.query('INSERT INTO shipments (order_id, by_effect) VALUES ($1, $2)', [event.data.order, name]);
    },
  }),
);

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

const lettersOf = (id: string) =>
  harness.sql('SELECT code, occurrences, runs, closed_at, closed_by FROM onefold.dead_letters WHERE event_id = $1', [
    id,
  ]);
const order = (message = 'the warehouse said no') =>
  orderPaid({ message }, { effects: effects.map(({ name }) => name) });

test('failed redeliveries count in one open dead letter, which the last completion closes', async () => {
  const event = order();
  const [ship, mail] = [`ship-order ${event.id}`, `send-mail ${event.id}`];
  failing.add(ship).add(mail);
  const runs: string[] = [];
  for (let round = 0; round < 2; round++) {
    const handle = await harness.client.workflow.start('processEvent', {
      workflowId: harness.key(event),
      taskQueue: harness.taskQueue,
      args: [harness.input(event)],
    });
    runs.push(handle.firstExecutionRunId);
    await expect(handle.result()).rejects.toThrow();
  }
  expect(await lettersOf(event.id)).toEqual([
    { code: 'budget_spent', occurrences: 2, runs, closed_at: null, closed_by: null },
  ]);

  failing.delete(ship);
  await expect((await harness.start(event)).result()).rejects.toThrow();
  expect(await lettersOf(event.id)).toMatchObject([{ occurrences: 3, closed_at: null }]);

  failing.delete(mail);
  const result = await resultOf(await harness.start(event));
  expect(result.outcome).toBe('done');
  expect(await lettersOf(event.id)).toMatchObject([{ occurrences: 3, closed_by: 'completion' }]);
  expect(await harness.sql('SELECT by_effect FROM shipments WHERE order_id = $1 ORDER BY 1', [event.id])).toEqual([
    { by_effect: 'send-mail' },
    { by_effect: 'ship-order' },
  ]);
});

test('a failure after a closed dead letter opens a new one', async () => {
  const event = order();
  failing.add(`send-mail ${event.id}`);
  await expect((await harness.start(event)).result()).rejects.toThrow();
  await harness.sql("UPDATE onefold.dead_letters SET closed_at = now(), closed_by = 'a person' WHERE event_id = $1", [
    event.id,
  ]);
  await expect((await harness.start(event)).result()).rejects.toThrow();
  expect(await lettersOf(event.id)).toMatchObject([{ closed_by: 'a person' }, { closed_at: null, occurrences: 1 }]);
});

test('an error message with a NUL, which PostgreSQL takes in no text, still ends in the dead letters', async () => {
  const event = order('cannot read a\0b');
  failing.add(`ship-order ${event.id}`).add(`send-mail ${event.id}`);
  await expect((await harness.start(event)).result()).rejects.toThrow();
  const [letter] = await harness.sql('SELECT message, effects FROM onefold.dead_letters WHERE event_id = $1', [
    event.id,
  ]);
  expect(letter?.message).toContain('cannot read a\uFFFDb');
  expect(JSON.parse(letter?.effects)[0].reasons[0].message).toContain('cannot read a\0b');
});
