import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NotYetError, PermanentError } from '../../src/effects/errors.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';

const secret = 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=';
const shop = standardWebhooks('shop', {
  secrets: secret,
  events: { 'order.paid': types<{ order: string; fail?: number; how?: string }>() },
});

const failures = new Map<string, number>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: (event) => `shipment:${event.data.order}`,
  retry: { initialInterval: 50, maximumInterval: 100, maximumAttempts: 3 },
  commit: async ({ event, tx }) => {
    const left = failures.get(event.data.order) ?? event.data.fail ?? 0;
    if (left > 0) {
      failures.set(event.data.order, left - 1);
      if (event.data.how === 'permanent') throw new PermanentError('never');
      if (event.data.how === 'not-yet') throw new NotYetError(100);
      throw new Error('the warehouse said no');
    }
    const { rows } = await tx.query('INSERT INTO shipments (order_id) VALUES ($1) RETURNING id', [event.data.order]);
    return { shipment: rows[0]?.id };
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness(
    { sources: [shop], effects: [shipOrder] },
    { setup: 'CREATE TABLE shipments (id serial PRIMARY KEY, order_id text NOT NULL)' },
  );
});
afterAll(() => harness?.close());

const order = (data: Record<string, unknown> = {}) => {
  const id = randomUUID();
  return {
    source: 'shop',
    id,
    type: 'order.paid',
    effects: ['ship-order'],
    body: { type: 'order.paid', data: { order: id, ...data } },
  };
};
const shipmentsOf = async (id: string) =>
  (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).length;

test('an event runs its effect once and completes with the stored result', async () => {
  const event = order();
  const result = await resultOf(await harness.start(event));
  expect(result).toMatchObject({
    event: `shop/${event.id}`,
    outcome: 'done',
    effects: [{ effect: 'ship-order', outcome: 'done', attempts: 1, fence: 1, businessKey: `shipment:${event.id}` }],
  });
  expect(await shipmentsOf(event.id)).toBe(1);
  const [row] = await harness.sql('SELECT state, remaining FROM onefold.events WHERE event_key = $1', [
    harness.key(event),
  ]);
  expect(row).toEqual({ state: 'done', remaining: 0 });
});

test('the same event started again after it was done answers already_done with the first result', async () => {
  const event = order();
  const first = await resultOf(await harness.start(event));
  const second = await resultOf(await harness.start(event));
  expect(second.outcome).toBe('already_done');
  expect(second.effects[0]).toMatchObject({
    outcome: 'already_done',
    result: first.effects[0]?.result,
    doneBy: `shop/${event.id}`,
  });
  expect(await shipmentsOf(event.id)).toBe(1);
});

test('failed attempts pause, are tried again, and each stands in the history', async () => {
  const event = order({ fail: 2 });
  const handle = await harness.start(event);
  const result = await resultOf(handle);
  expect(result.effects[0]).toMatchObject({ outcome: 'done', attempts: 3 });
  const { events } = await handle.fetchHistory();
  const failed = events?.filter((e) => e.activityTaskFailedEventAttributes || e.markerRecordedEventAttributes?.failure);
  expect(failed?.length).toBe(2);
  expect(await shipmentsOf(event.id)).toBe(1);
});

test('a spent budget writes a dead letter with every reason, then fails the workflow', async () => {
  const event = order({ fail: 9 });
  const handle = await harness.start(event);
  await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);
  const [letter] = await harness.sql('SELECT * FROM onefold.dead_letters WHERE event_key = $1', [harness.key(event)]);
  expect(letter).toMatchObject({ code: 'budget_spent', occurrences: 1, closed_at: null });
  const [effect] = JSON.parse(letter?.effects);
  expect(effect.reasons.map((reason: { code: string }) => reason.code)).toEqual([
    'effect_threw',
    'effect_threw',
    'effect_threw',
  ]);
  expect(await shipmentsOf(event.id)).toBe(0);
});

test('a permanent error spends one attempt', async () => {
  const event = order({ fail: 9, how: 'permanent' });
  await expect((await harness.start(event)).result()).rejects.toBeInstanceOf(WorkflowFailedError);
  const [letter] = await harness.sql('SELECT * FROM onefold.dead_letters WHERE event_key = $1', [harness.key(event)]);
  expect(letter).toMatchObject({ code: 'permanent_error' });
});

test('NotYetError waits without spending an attempt', async () => {
  const event = order({ fail: 5, how: 'not-yet' });
  const result = await resultOf(await harness.start(event));
  expect(result.effects[0]).toMatchObject({ outcome: 'done', attempts: 1 });
});
