import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { NotYetError } from '../../src/effects/errors.js';
import type { ReplayOptions } from '../../src/operations/replay-event.js';
import { createGate, type Gate } from '../hazards/support/gate.js';
import { shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from './support/stage.js';

const setup = `CREATE TABLE shipments (id serial PRIMARY KEY, order_id text NOT NULL);
               CREATE TABLE invoices (id serial PRIMARY KEY, order_id text NOT NULL);
               CREATE TABLE letters (id serial PRIMARY KEY, order_id text NOT NULL)`;

/** Orders whose shipping fails, is put off, or waits at a gate. */
const failing = new Set<string>();
const postponed = new Set<string>();
const gates = new Map<string, Gate>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { maximumAttempts: 1 },
  commit: async ({ event, tx }) => {
    await gates.get(event.data.order)?.pass();
    if (postponed.has(event.data.order)) throw new NotYetError('1 hour');
    if (failing.has(event.data.order)) throw new Error('the warehouse said no');
    const { rows } = await tx.query('INSERT INTO shipments (order_id) VALUES ($1) RETURNING id', [event.data.order]);
    return { shipment: rows[0]?.id };
  },
});
const invoiceOrder = shop.effect('invoice-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `invoice:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO invoices (order_id) VALUES ($1)', [event.data.order]);
  },
});
const thankCustomer = shop.effect('thank-customer', {
  on: 'order.paid',
  businessKey: ({ data }) => `letter:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO letters (order_id) VALUES ($1)', [event.data.order]);
  },
});

const bob: ReplayOptions = { by: 'bob', reason: 'the warehouse is back' };

let stage: Stage;
let app: Deployed;
let id: string;
let key: string;

beforeAll(async () => {
  stage = await createStage({ setup });
  app = stage.deploy([shipOrder, invoiceOrder]);
  await app.startWorker();
});
afterAll(() => stage?.close());
beforeEach(() => {
  id = randomUUID();
  key = `event//shop/${id}`;
});

const closed = async (run?: string) => {
  await stage.client.workflow
    .getHandle(key, run)
    .result()
    .catch(() => {});
};

/** An event whose invoice was written and whose shipping failed for good. */
async function deadLettered(): Promise<void> {
  failing.add(id);
  expect((await app.deliver(id)).path).toBe('first_run');
  await closed();
  failing.delete(id);
}

async function rows(table: 'shipments' | 'invoices' | 'letters'): Promise<number> {
  return (await stage.sql(`SELECT 1 FROM ${table} WHERE order_id = $1`, [id])).length;
}

const letters = () =>
  stage.sql('SELECT code, occurrences, closed_at, closed_by FROM onefold.dead_letters WHERE event_key = $1', [key]);
const acts = () =>
  stage.sql('SELECT id, actor, reason, outcome FROM onefold.acts WHERE event_key = $1 ORDER BY at', [key]);

test('a replay of a dead-lettered event performs only what is missing, and closes the dead letter', async () => {
  await deadLettered();
  expect(await letters()).toEqual([{ code: 'budget_spent', occurrences: 1, closed_at: null, closed_by: null }]);

  const replayed = await app.onefold.replay(`shop/${id}`, bob);
  expect(replayed).toMatchObject({
    event: `shop/${id}`,
    eventKey: key,
    outcome: 'started',
    state: { ledger: 'dead_lettered', temporal: 'failed' },
    steps: [
      { effect: 'invoice-order', businessKey: `invoice:${id}`, action: 'skip', because: 'done' },
      { effect: 'ship-order', businessKey: `shipment:${id}`, action: 'perform', because: 'not done' },
    ],
  });
  const result = await stage.client.workflow.getHandle(key, replayed.runId).result();
  expect(result).toMatchObject({
    outcome: 'done',
    effects: [
      { effect: 'invoice-order', outcome: 'already_done', attempts: 0 },
      { effect: 'ship-order', outcome: 'done', attempts: 1 },
    ],
  });
  expect([await rows('shipments'), await rows('invoices')]).toEqual([1, 1]);
  expect(await letters()).toMatchObject([{ closed_at: expect.any(Date), closed_by: 'completion' }]);
  expect(await acts()).toEqual([{ id: replayed.id, actor: 'bob', reason: bob.reason, outcome: 'started' }]);
  expect(app.lines).toContainEqual(
    expect.objectContaining({
      msg: 'webhook.replayed',
      eventKey: key,
      act: replayed.id,
      by: 'bob',
      reason: bob.reason,
      outcome: 'started',
    }),
  );
});

test('a replayed run is found by source and type, and its memo and details say whose wish it is', async () => {
  await deadLettered();
  const { id: act } = await app.onefold.replay(`shop/${id}`, bob);
  const run = await stage.client.workflow.getHandle(key).describe();
  expect(run.searchAttributes).toMatchObject({ OnefoldSource: ['shop'], OnefoldType: ['order.paid'] });
  expect(run.memo).toMatchObject({ replay: act, type: 'order.paid', digest: expect.any(String) });
  expect(await run.staticSummary()).toBe(`replay · shop/${id} · order.paid`);
  expect(await run.staticDetails()).toContain(`replayed by bob: the warehouse is back (act ${act})`);
});

test('deliberate-replay-is-not-a-duplicate: the same command twice is one run, a second wish is one of its own', async () => {
  await deadLettered();
  failing.add(id);
  const gate = createGate();
  gates.set(id, gate);
  const first = await app.onefold.replay(`shop/${id}`, { ...bob, id: 'r1' });
  await gate.reached;
  const whileRunning = await app.onefold.replay(`shop/${id}`, { ...bob, id: 'r1' });
  gate.open();
  await closed(first.runId);
  const afterwards = await app.onefold.replay(`shop/${id}`, { ...bob, id: 'r1' });
  expect(first.outcome).toBe('started');
  expect([whileRunning, afterwards]).toEqual([first, first]);
  expect(await stage.runsOf(key)).toHaveLength(2);

  failing.delete(id);
  const second = await app.onefold.replay(`shop/${id}`, { ...bob, id: 'r2' });
  expect(second.outcome).toBe('started');
  await closed(second.runId);
  expect(await app.onefold.replay(`shop/${id}`, { ...bob, id: 'r1' })).toEqual(first);
  expect(await rows('shipments')).toBe(1);
  expect((await acts()).map(({ id: act, outcome }) => [act, outcome])).toEqual([
    ['r1', 'started'],
    ['r2', 'started'],
  ]);
});

test('a wish that was recorded by a process that died before the start is carried out by the same command', async () => {
  await deadLettered();
  const { state, steps } = await app.onefold.replay(`shop/${id}`, { ...bob, dryRun: true });
  await stage.sql(
    `INSERT INTO onefold.acts (tenant, id, kind, event_key, actor, reason, seen, outcome)
     VALUES ('', $1, 'replay', $2, 'bob', 'r', $3, 'asked')`,
    [`asked-${id}`, key, JSON.stringify({ state, steps })],
  );
  const again = await app.onefold.replay(`shop/${id}`, { ...bob, id: `asked-${id}` });
  expect(again.outcome).toBe('started');
  await closed(again.runId);
  expect(await rows('shipments')).toBe(1);
  expect(await acts()).toMatchObject([{ outcome: 'started' }]);
});

test('a wish whose process died after the start is answered by its run, and nothing is started', async () => {
  await deadLettered();
  failing.add(id);
  const first = await app.onefold.replay(`shop/${id}`, { ...bob, id: `unsaid-${id}` });
  await closed(first.runId);
  await stage.sql("UPDATE onefold.acts SET outcome = 'asked' WHERE id = $1", [`unsaid-${id}`]);
  // A redelivery has taken the place of the latest run meanwhile.
  await app.deliver(id);
  await closed();
  await until('three runs in visibility', async () => (await stage.runsOf(key)).length === 3);
  expect(await app.onefold.replay(`shop/${id}`, { ...bob, id: `unsaid-${id}` })).toEqual(first);
  expect(await stage.runsOf(key)).toHaveLength(3);
  expect(await acts()).toMatchObject([{ outcome: 'started' }]);
});

test('of many people who replay at once one starts a run, and nobody does the effect twice', async () => {
  await deadLettered();
  const answers = await Promise.allSettled(
    Array.from({ length: 8 }, (_, person) => app.onefold.replay(`shop/${id}`, { ...bob, by: `person ${person}` })),
  );
  const outcomes = answers.map((answer) =>
    answer.status === 'fulfilled' ? answer.value.outcome : (answer.reason as { code: string }).code,
  );
  expect(outcomes.filter((outcome) => outcome === 'started')).toHaveLength(1);
  for (const outcome of outcomes) {
    expect(['started', 'lost_race', 'nothing_to_do', 'replay_refused']).toContain(outcome);
  }
  await closed();
  expect(await stage.runsOf(key)).toHaveLength(2);
  expect(await rows('shipments')).toBe(1);
});

test('one command given many times at once starts one run, and each is told of it', async () => {
  await deadLettered();
  const options = { ...bob, id: `same-${id}` };
  const answers = await Promise.all(Array.from({ length: 8 }, () => app.onefold.replay(`shop/${id}`, options)));
  expect(new Set(answers.map(({ outcome, runId }) => `${outcome} ${runId}`)).size).toBe(1);
  expect(answers[0]?.outcome).toBe('started');
  await closed();
  expect(await stage.runsOf(key)).toHaveLength(2);
  expect(await rows('shipments')).toBe(1);
});

test('the id of an act of another event is refused', async () => {
  await deadLettered();
  await app.onefold.replay(`shop/${id}`, { ...bob, id: `mine-${id}` });
  const other = randomUUID();
  await expect(app.onefold.replay(`shop/${other}`, { ...bob, id: `mine-${id}` })).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining(key),
  });
});

test('an abandoned event stays abandoned for redeliveries, and a replay lifts it', async () => {
  postponed.add(id);
  await app.deliver(id);
  await until('the wait', () => app.lines.some(({ msg, eventKey }) => msg === 'effect.waiting' && eventKey === key));
  const handle = stage.client.workflow.getHandle(key);
  const abandoning = handle.executeUpdate('abandon', { args: [{ by: 'alice', reason: 'fraud' }] });
  await expect(abandoning).resolves.toMatchObject({ abandoned: true });
  postponed.delete(id);
  await closed();
  expect(await app.deliver(id)).toMatchObject({ status: 200, path: 'duplicate_done', json: { outcome: 'abandoned' } });
  expect(await rows('shipments')).toBe(0);

  const replayed = await app.onefold.replay(`shop/${id}`, { ...bob, reason: 'no fraud after all' });
  expect(replayed).toMatchObject({ outcome: 'started', state: { ledger: 'abandoned', temporal: 'completed' } });
  expect(await handle.result()).toMatchObject({ outcome: 'done' });
  expect([await rows('shipments'), await rows('invoices')]).toEqual([1, 1]);
  expect(await stage.sql('SELECT state, abandoned_by FROM onefold.events WHERE event_key = $1', [key])).toEqual([
    { state: 'done', abandoned_by: null },
  ]);
});

test('an event that was terminated before it was ever planned is replayed from its history', async () => {
  await app.stopWorker();
  await app.deliver(id);
  await stage.client.workflow.getHandle(key).terminate('an operator');
  expect(await stage.sql('SELECT 1 FROM onefold.events WHERE event_key = $1', [key])).toEqual([]);
  const replayed = await app.onefold.replay(`shop/${id}`, bob);
  expect(replayed).toMatchObject({
    outcome: 'started',
    state: { ledger: 'unknown', temporal: 'terminated' },
    steps: [
      { effect: 'ship-order', action: 'perform', because: 'never planned' },
      { effect: 'invoice-order', action: 'perform', because: 'never planned' },
    ],
  });
  await app.startWorker();
  await closed(replayed.runId);
  expect([await rows('shipments'), await rows('invoices')]).toEqual([1, 1]);
});

test('a running event is refused, and so is one that nobody knows', async () => {
  const gate = createGate();
  gates.set(id, gate);
  await app.deliver(id);
  await gate.reached;
  await expect(app.onefold.replay(`shop/${id}`, bob)).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining('retry-now'),
  });
  gate.open();
  await closed();
  expect(await acts()).toEqual([]);
  await expect(app.onefold.replay(`shop/${randomUUID()}`, bob)).rejects.toMatchObject({ code: 'event_unknown' });
  await expect(app.onefold.replay('no-slash', bob)).rejects.toMatchObject({ code: 'identity_invalid' });
});

test.each([
  ['by', { by: ' ' }],
  ['reason', { reason: '' }],
  ['id', { id: ' ' }],
])('a blank %s is refused before anything is looked at', async (_what, blank) => {
  await expect(app.onefold.replay('shop/evt_1', { ...bob, ...blank })).rejects.toMatchObject({
    code: 'replay_refused',
  });
});

test('an event that is done has nothing to replay, and the act says so', async () => {
  await app.deliver(id);
  await closed();
  expect(await app.onefold.replay(key, bob)).toMatchObject({ event: `shop/${id}`, outcome: 'nothing_to_do' });
  expect(await stage.runsOf(key)).toHaveLength(1);
  expect(await acts()).toMatchObject([{ outcome: 'nothing_to_do' }]);
});

test('an effect that was added since is performed by a replay alone', async () => {
  await deadLettered();
  const done = randomUUID();
  await app.deliver(done);
  await stage.client.workflow.getHandle(`event//shop/${done}`).result();
  await app.stopWorker();
  const next = stage.deploy([shipOrder, invoiceOrder, thankCustomer]);
  await next.startWorker();

  expect((await next.deliver(id)).path).toBe('retry_after_failure');
  await closed();
  expect((await next.deliver(done)).path).toBe('duplicate_done');
  expect([await rows('shipments'), await rows('letters')]).toEqual([1, 0]);

  const replayed = await next.onefold.replay(`shop/${done}`, bob);
  expect(replayed.steps).toContainEqual({ effect: 'thank-customer', action: 'perform', because: 'added since' });
  expect(replayed.outcome).toBe('started');
  await stage.client.workflow.getHandle(`event//shop/${done}`, replayed.runId).result();
  expect(await stage.sql('SELECT order_id FROM letters')).toEqual([{ order_id: done }]);
  expect(await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [done])).toHaveLength(1);
  await next.stopWorker();
  await app.startWorker();
});

test('a dry run changes nothing', async () => {
  await deadLettered();
  const tables = ['events', 'event_effects', 'effects', 'payloads', 'dead_letters', 'acts', 'attempt_marks'];
  const checksum = async () => {
    const sums = tables.map((table) =>
      stage.sql(
        `SELECT '${table}' AS t, md5(coalesce(string_agg(r::text, '|' ORDER BY r::text), '')) AS sum FROM onefold.${table} r`,
      ),
    );
    return Promise.all(sums);
  };
  const before = await checksum();
  const seen = await app.onefold.replay(`shop/${id}`, { ...bob, dryRun: true });
  expect(seen).toMatchObject({ outcome: 'dry_run', state: { ledger: 'dead_lettered', temporal: 'failed' } });
  expect(seen.runId).toBeUndefined();
  expect(await checksum()).toEqual(before);
  expect(await stage.runsOf(key)).toHaveLength(1);
});

test('an event whose body is gone from the ledger is replayed from its history, and the ledger has it again', async () => {
  await deadLettered();
  await stage.sql('DELETE FROM onefold.payloads WHERE event_key = $1', [key]);
  const replayed = await app.onefold.replay(`shop/${id}`, bob);
  expect(replayed.outcome).toBe('started');
  await closed(replayed.runId);
  expect(await rows('shipments')).toBe(1);
  expect(await stage.sql('SELECT 1 FROM onefold.payloads WHERE event_key = $1', [key])).toHaveLength(1);
});

test('an event whose body is gone everywhere is refused as payload_missing, and nothing is recorded', async () => {
  failing.add(id);
  // Too large for a workflow's input, so that the history has it by reference only.
  await app.deliver(id, { note: 'x'.repeat(200_000) });
  await closed();
  failing.delete(id);
  await stage.sql('DELETE FROM onefold.payloads WHERE event_key = $1', [key]);
  await expect(app.onefold.replay(`shop/${id}`, bob)).rejects.toMatchObject({ code: 'payload_missing' });
  expect(await acts()).toEqual([]);
  expect(await stage.runsOf(key)).toHaveLength(1);
});
