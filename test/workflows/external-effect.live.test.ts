import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { forwardsKey, park, reconcile } from '../../src/effects/recovery.js';
import type { EventStatus } from '../../src/workflows/contract.js';
import { countEvents } from '../hazards/support/history.js';
import { nudged } from '../hazards/support/nudged.js';
import { orderPaid, shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';

/** What the recipient does with the next calls, in order; afterwards it charges and answers 200. */
let script: ((key: string) => Promise<Response> | Response)[];
let keys: string[];
let charged: Set<string>;
let harness: Harness;
const answers = (status: number) => () => new Response(null, { status });
const recipient = async (key: string): Promise<Response> => {
  keys.push(key);
  const next = script.shift();
  if (next) return next(key);
  charged.add(key);
  return new Response(JSON.stringify({ charge: charged.size }));
};
const perform = async ({ idempotencyKey }: { idempotencyKey: string }) => {
  const response = await recipient(idempotencyKey);
  if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), { status: response.status });
  return (await response.json()) as { charge: number };
};
let told: { done: { charge: number } } | 'absent' | 'unknown';
const common = {
  on: 'order.paid',
  timeout: '5 seconds',
  heartbeat: '1 second',
  retry: { initialInterval: 50, maximumInterval: 100, maximumAttempts: 3 },
  perform,
} as const;
const effects = [
  shop.externalEffect('charge', {
    ...common,
    businessKey: ({ data }) => `charge:${data.order}`,
    recovery: forwardsKey({ validFor: '1 day' }),
  }),
  shop.externalEffect('ask', {
    ...common,
    businessKey: ({ data }) => `ask:${data.order}`,
    recovery: reconcile<{ charge: number }>(async () => told, { settleAfter: 100 }),
  }),
  shop.externalEffect('parking', { ...common, businessKey: ({ data }) => `parking:${data.order}`, recovery: park() }),
];

beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects });
});
afterAll(() => harness.close());
beforeEach(() => {
  script = [];
  keys = [];
  charged = new Set();
  told = 'unknown';
});
const statusOf = (handle: { query(name: string): Promise<unknown> }) => handle.query('status') as Promise<EventStatus>;
const phase = async (handle: { query(name: string): Promise<unknown> }) => (await statusOf(handle)).effects[0]?.phase;
const parkedLetters = (event: { id: string }) =>
  harness.sql('SELECT code, parked, closed_by FROM onefold.dead_letters WHERE event_id = $1 ORDER BY id', [event.id]);

test('each attempt at an external effect is an activity of its own, the first one too', async () => {
  script = [answers(503), answers(503)];
  const handle = await harness.start(orderPaid({}, { effects: ['charge'] }));
  expect(await resultOf(handle)).toMatchObject({
    outcome: 'done',
    effects: [{ attempts: 3, result: { json: '{"charge":1}' } }],
  });
  expect((await countEvents(handle)).activityTaskScheduled).toBe(3);
  expect((await statusOf(handle)).effects).toMatchObject([{ phase: 'ended', outcome: 'done', attempts: 3 }]);
  expect((await statusOf(handle)).effects[0]?.lastFailure).toBeUndefined();
  expect(new Set(keys).size).toBe(1);
});

test('an unknown outcome that stays unknown is left to a person when the budget of asking is spent', async () => {
  script = [answers(500)];
  const event = orderPaid({}, { effects: ['ask'] });
  const handle = await harness.start(event);
  await until('parked', async () => (await phase(handle)) === 'parked');
  expect(keys).toHaveLength(1);
  await until('its entry', async () => (await parkedLetters(event)).length > 0);
  expect(await parkedLetters(event)).toEqual([{ code: 'effect_parked', parked: true, closed_by: null }]);
  await until('its search attribute', async () => {
    const { typedSearchAttributes } = await handle.describe();
    return typedSearchAttributes.getAll().find(({ key }) => key.name === 'OnefoldState')?.value === 'parked';
  });
  await handle.terminate();
});

test('a parked event waits, and goes on with a budget of its own once the ledger says that nothing was done', async () => {
  script = [answers(500)];
  const event = orderPaid({}, { effects: ['parking'] });
  const handle = await harness.start(event);
  await until('its entry', async () => (await parkedLetters(event)).length > 0);
  await harness.sql(
    `UPDATE onefold.effects SET state = 'released', fence = fence + 1, generation = 2, in_doubt = false WHERE business_key = $1`,
    [`parking:${event.id}`],
  );
  script = [answers(404), answers(404)];
  const result = await nudged([handle], () => resultOf(handle));
  expect(result).toMatchObject({ outcome: 'done', effects: [{ attempts: 4 }] });
  expect(new Set(keys).size).toBe(4);
  expect(await parkedLetters(event)).toEqual([{ code: 'effect_parked', parked: true, closed_by: 'resolve' }]);
});

test('a second event on a parked key parks with it, and ends with it', async () => {
  script = [answers(500)];
  const order = randomUUID();
  const first = await harness.start(orderPaid({ order }, { effects: ['parking'] }));
  await until('parked', async () => (await phase(first)) === 'parked');
  const event = orderPaid({ order }, { effects: ['parking'] });
  const second = await harness.start(event);
  await until('its entry', async () => (await parkedLetters(event)).length > 0);
  expect(keys).toHaveLength(1);
  await harness.sql(
    `UPDATE onefold.effects SET state = 'done', fence = fence + 1, done_at = now(), result = '{"charge":9}' WHERE business_key = $1`,
    [`parking:${order}`],
  );
  const [one, two] = await nudged([first, second], () => Promise.all([resultOf(first), resultOf(second)]));
  expect(one).toMatchObject({ outcome: 'done', effects: [{ result: { json: '{"charge":9}' } }] });
  expect(two).toMatchObject({ outcome: 'already_done' });
});
