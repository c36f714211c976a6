import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { temporalCli } from './support/temporal-cli.js';
import { until } from './support/until.js';

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let harness: Harness;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-by-hand-'));
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable });
});
afterAll(async () => {
  await harness?.close();
  await rm(folder, { recursive: true });
});

/** Well-formed, but with a field nested deeper than any writer of JSON can follow. */
test('an input with a bottomless field nobody asked for runs as the event it is', async () => {
  const event = orderPaid();
  const deep = `${'['.repeat(9000)}${']'.repeat(9000)}`;
  const text = JSON.stringify(harness.input(event)).replace(/\}$/, `,"extra":${deep}}`);
  const file = join(folder, randomUUID());
  await writeFile(file, text);
  const answer = await temporalCli([
    ...['workflow', 'start', '--type', 'processEvent', '--task-queue', harness.taskQueue, '-w', harness.key(event)],
    ...['--input-file', file],
  ]);
  expect(answer, answer.text).toMatchObject({ ok: true });
  expect(await endOf(harness.key(event))).toBe('COMPLETED');
});

/** `temporal workflow start --type processEvent`, as a person types it. */
async function startByHand(workflowId: string, input?: unknown): Promise<void> {
  const file = join(folder, randomUUID());
  await writeFile(file, JSON.stringify(input ?? null));
  const answer = await temporalCli([
    ...['workflow', 'start', '--type', 'processEvent', '--task-queue', harness.taskQueue, '-w', workflowId],
    ...(input === undefined ? [] : ['--input-file', file]),
  ]);
  expect(answer, answer.text).toMatchObject({ ok: true });
}
async function endOf(workflowId: string): Promise<string> {
  const handle = harness.client.workflow.getHandle(workflowId);
  return until(
    'the end of the run',
    async () => {
      const { status } = await handle.describe();
      return status.name === 'RUNNING' ? undefined : status.name;
    },
    10_000,
  );
}
const letterOf = async (workflowId: string) =>
  (await harness.sql('SELECT code, closed_at FROM onefold.dead_letters WHERE event_key = $1', [workflowId]))[0];

const good = () => harness.input(orderPaid());
const carried = { progress: [], planning: { attempts: 0, waits: 0, reasons: [] } };

test.each<[string, (id: string) => unknown]>([
  ['nothing at all', () => undefined],
  ['null', () => null],
  ['a string', () => 'evt_1'],
  ['a list', () => [1, 2]],
  ['an object without fields', () => ({})],
  ['an input without its payload', (id) => ({ ...good(), id, payload: undefined })],
  ['an input of another event', () => good()],
  ['an input of another tenant', (id) => ({ ...good(), id, tenant: 'other' })],
  ['effects that are no names', (id) => ({ ...good(), id, effects: [1] })],
  ['a time that only JavaScript reads', (id) => ({ ...good(), id, receivedAt: '7' })],
  ['a time beyond PostgreSQL', (id) => ({ ...good(), id, receivedAt: '+275760-09-13T00:00:00.000Z' })],
  ['a day that no month has', (id) => ({ ...good(), id, receivedAt: '2026-02-31T00:00:00.000Z' })],
  ['a type with NUL', (id) => ({ ...good(), id, type: 'order\0paid' })],
  ['carried state without its parts', (id) => ({ ...good(), id, carried: {} })],
  ['carried state of the wrong kind', (id) => ({ ...good(), id, carried: 5 })],
])('%s fails the run with a dead letter', async (_what, input) => {
  const id = randomUUID();
  const workflowId = `event//shop/${id}`;
  await startByHand(workflowId, input(id));
  expect(await endOf(workflowId)).toBe('FAILED');
  expect(await letterOf(workflowId)).toEqual({ code: 'input_malformed', closed_at: null });
});

test.each<[string, object]>([
  ['progress that is none', { ...carried, plan: { effects: [], searchAttributes: [] }, progress: [null] }],
  ['a plan that is none', { ...carried, plan: {}, progress: [{ planned: 7 }] }],
])('carried state with %s fails the run with a dead letter', async (_what, state) => {
  const id = randomUUID();
  const workflowId = `event//shop/${id}`;
  await startByHand(workflowId, { ...good(), id, carried: state });
  expect(await endOf(workflowId)).toBe('FAILED');
  expect(await letterOf(workflowId)).toEqual({ code: 'internal_error', closed_at: null });
});

test.each([
  ['no event key at all', () => randomUUID()],
  ['a key with too many segments', () => `event//shop/${randomUUID()}/more`],
  ['an identity with NUL', () => `event//shop/${randomUUID()}%00`],
  ['another spelling of a key', () => `event//shop/%61${randomUUID()}`],
])('a workflow ID that is %s fails with a dead letter', async (_what, idOf) => {
  const workflowId = idOf();
  await startByHand(workflowId, { ...good(), id: decodeURIComponent(workflowId.split('/')[3] ?? workflowId) });
  expect(await endOf(workflowId)).toBe('FAILED');
  expect(await letterOf(workflowId)).toEqual({ code: 'input_malformed', closed_at: null });
});

test.each([
  ['no event', { huge: 'x'.repeat(1_900_000) }],
  ['an event whose data fail for good', undefined],
])('a huge input that is %s fails with a dead letter', async (_what, input) => {
  const id = randomUUID();
  const workflowId = `event//shop/${id}`;
  await startByHand(workflowId, input ?? { ...good(), id, payload: { text: `{"no JSON ${'x'.repeat(2_090_000)}` } });
  expect(await endOf(workflowId)).toBe('FAILED');
  expect(await letterOf(workflowId)).toMatchObject({ closed_at: null });
});

test('a malformed start does not keep the genuine event from its effect afterwards', async () => {
  const event = orderPaid();
  await startByHand(harness.key(event), 'a slip of the hand');
  expect(await endOf(harness.key(event))).toBe('FAILED');
  const result = await resultOf(await harness.start(event));
  expect(result.outcome).toBe('done');
  expect(await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [event.id])).toHaveLength(1);
  expect(await letterOf(harness.key(event))).toMatchObject({ closed_at: expect.any(Date) });
  expect(await harness.sql('SELECT type, state FROM onefold.events WHERE event_id = $1', [event.id])).toEqual([
    { type: 'order.paid', state: 'done' },
  ]);
});

test('a done event that is started by hand with rubbish stays done', async () => {
  const event = orderPaid();
  await resultOf(await harness.start(event));
  await startByHand(harness.key(event), null);
  expect(await endOf(harness.key(event))).toBe('FAILED');
  expect(await letterOf(harness.key(event))).toBeUndefined();
  expect((await resultOf(await harness.start(event))).outcome).toBe('already_done');
});
