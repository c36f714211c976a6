import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ActivityDependencies } from '../../src/activities/dependencies.js';
import { createRecordAbandon, type RecordAbandonArgument } from '../../src/activities/record-abandon.js';
import { createCatalogue } from '../../src/effects/catalogue.js';
import { planEvent } from '../../src/effects/plan-event.js';
import { businessKey } from '../../src/identity/business-identity.js';
import { claimEffect } from '../../src/ledger/claim-effect.js';
import { completeEffect } from '../../src/ledger/complete-effect.js';
import type { Sql } from '../../src/ledger/database.js';
import { readPayload } from '../../src/ledger/read-payload.js';
import { readPlan } from '../../src/ledger/read-plan.js';
import { readAct, recordAct } from '../../src/ledger/record-act.js';
import { createGate } from '../hazards/support/gate.js';
import { orderPaid, shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

const effects = ['ship-order', 'send-mail'].map((name) =>
  shop.effect(name, { on: 'order.paid', businessKey: ({ data }) => data.order, commit: async () => 1 }),
);
const catalogue = createCatalogue([shop], effects);

let harness: Harness;
let recordAbandon: ReturnType<typeof createRecordAbandon>;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
  const deps = { ledger: harness.ledger, catalogue, log: pino({ level: 'silent' }) };
  recordAbandon = createRecordAbandon(deps as Partial<ActivityDependencies> as ActivityDependencies);
});
afterAll(() => harness?.close());

const inTransaction = <Result>(work: (sql: Sql) => Promise<Result>) =>
  harness.ledger.database.transaction((_tx, sql) => work(sql), {
    statementTimeoutMs: 5000,
    lockTimeoutMs: 3000,
    idleTimeoutMs: 5000,
  });
const database = () => ({ query: harness.ledger.database.query, schema: harness.ledger.schema });

function created(names: readonly string[], order?: string) {
  const event = { ...orderPaid(order === undefined ? {} : { order }), effects: names };
  return { event, input: harness.input(event), eventKey: harness.key(event) };
}
type Created = ReturnType<typeof created>;
const planned = async (...names: string[]) => plan(created(names));
const plan = async (one: Created) => {
  await planEvent({ catalogue, ledger: harness.ledger, searchAttributes: [] }, one.eventKey, one.input);
  return one;
};
const argumentOf = ({ input, eventKey }: Created): RecordAbandonArgument => ({
  event: { ...input, eventKey },
  input: { ...input, payload: { stored: true } },
  request: { by: 'ann', reason: 'the customer left' },
  act: `${eventKey}#1`,
});
const identityOf = ({ event, eventKey }: Created, effect = 'ship-order') => ({
  tenant: '',
  effect,
  names: [effect],
  businessKey: businessKey(event.id),
  eventKey,
  owner: randomUUID(),
});
const claim = (sql: Sql, identity: ReturnType<typeof identityOf>) =>
  claimEffect(sql, harness.ledger.schema, {
    ...identity,
    source: 'shop',
    event: 'shop/1',
    dataDigest: '',
    lockTimeoutMs: 3000,
  });
async function complete(sql: Sql, one: Created): Promise<void> {
  const identity = identityOf(one);
  const claimed = await claim(sql, identity);
  if (claimed.path !== 'claimed') throw new Error('not claimed');
  await completeEffect(sql, harness.ledger.schema, { ...identity, ...claimed, result: '7' });
}
const claims = async ({ event }: Created) =>
  (await harness.sql('SELECT 1 FROM onefold.effects WHERE business_key = $1', [event.id])).length;
const seenIn = async (one: Created) => {
  const { query, schema } = database();
  return (await readAct(query, schema, '', argumentOf(one).act))?.seen;
};

test('an abandon that meets a committing completion tells of it, in its answer and in its act', async () => {
  const one = await planned('ship-order', 'send-mail');
  const gate = createGate();
  const completion = inTransaction(async (sql) => {
    await complete(sql, one);
    await gate.pass();
  });
  await gate.reached;
  const abandoned = recordAbandon(argumentOf(one));
  await sleep(200);
  gate.open();
  await completion;
  expect(await abandoned).toMatchObject({ abandoned: true, ends: [{ effect: 'ship-order', outcome: 'done' }] });
  expect(JSON.parse((await seenIn(one)) ?? '')).toMatchObject([{ effect: 'ship-order', outcome: 'done' }]);
});

test('an abandon that meets the completion of the last effect abandons nothing and records no act', async () => {
  const one = await planned('ship-order');
  const gate = createGate();
  const completion = inTransaction(async (sql) => {
    await complete(sql, one);
    await gate.pass();
  });
  await gate.reached;
  const abandoned = recordAbandon(argumentOf(one));
  await sleep(200);
  gate.open();
  await completion;
  expect(await abandoned).toMatchObject({ abandoned: false, ends: [{ outcome: 'done', result: { json: '7' } }] });
  expect(await seenIn(one)).toBeUndefined();
});

test('an abandoned event is claimed no more, and its effect claimed by another event is', async () => {
  const one = await planned('ship-order');
  await recordAbandon(argumentOf(one));
  await expect(inTransaction((sql) => claim(sql, identityOf(one)))).rejects.toMatchObject({ code: 'abandoned' });
  expect(await claims(one)).toBe(0);
  const other = { ...(await plan(created(['ship-order'], one.event.id))), event: one.event };
  expect(await inTransaction((sql) => claim(sql, identityOf(other)))).toMatchObject({ path: 'claimed' });
});

test('a completion that comes after an abandon is refused, and nothing of its attempt stays', async () => {
  const one = await planned('ship-order');
  const gate = createGate();
  const attempt = inTransaction(async (sql) => {
    const identity = identityOf(one);
    const claimed = await claim(sql, identity);
    await gate.pass();
    if (claimed.path === 'claimed') {
      await completeEffect(sql, harness.ledger.schema, { ...identity, ...claimed, result: '7' });
    }
  });
  attempt.catch(() => {});
  await gate.reached;
  expect(await recordAbandon(argumentOf(one))).toEqual({ abandoned: true, ends: [], inDoubt: [] });
  gate.open();
  await expect(attempt).rejects.toMatchObject({ code: 'abandoned' });
  expect(await claims(one)).toBe(0);
  const { query, schema } = database();
  expect(await readPlan(query, schema, '', one.eventKey)).toMatchObject({
    state: 'abandoned',
    effects: [{ effect: 'ship-order' }],
  });
});

test('an abandon names the effects that may have taken hold, and not others with their business key', async () => {
  const one = await planned('ship-order', 'send-mail');
  for (const [effect, state] of [
    ['ship-order', 'released'],
    ['send-mail', 'unknown'],
  ]) {
    await harness.sql(
      `INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest)
       VALUES ('', $1, $2, $3, 1, gen_random_uuid(), $4, 'shop/x', '')`,
      [effect, one.event.id, state, one.eventKey],
    );
  }
  const { inDoubt } = await recordAbandon(argumentOf(one));
  expect(inDoubt).toEqual([{ effect: 'send-mail', businessKey: one.event.id }]);
});

test('an event that was abandoned before its plan keeps its body, and a replay plans from it', async () => {
  const one = created(['ship-order']);
  const text = JSON.stringify(one.event.body);
  await recordAbandon({ ...argumentOf(one), text });
  const { query, schema } = database();
  const body = await readPayload(query, schema, { tenant: '', eventKey: one.eventKey, digest: one.input.digest });
  expect(Buffer.from(body ?? '').toString()).toBe(text);

  const replay = { id: randomUUID(), by: 'bob', reason: 'back again', at: new Date().toISOString() };
  await recordAct(query, schema, {
    tenant: '',
    id: replay.id,
    kind: 'replay',
    eventKey: one.eventKey,
    actor: 'bob',
    reason: replay.reason,
    seen: '[]',
    outcome: 'asked',
  });
  const input = { ...one.input, payload: { stored: true as const }, replay };
  const answer = await planEvent({ catalogue, ledger: harness.ledger, searchAttributes: [] }, one.eventKey, input);
  expect(answer).toMatchObject({ kind: 'planned', plan: { effects: [{ effect: 'ship-order' }] } });
});

test('an event abandoned over the letter of a malformed run stays abandoned, with its own input', async () => {
  const one = created(['ship-order']);
  await harness.sql(
    `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, received_at, remaining, state)
     VALUES ('', $1, 'shop', 'x', 'unknown', 'unknown', '{}', now(), 0, 'dead_lettered')`,
    [one.eventKey],
  );
  await recordAbandon({ ...argumentOf(one), text: JSON.stringify(one.event.body) });
  const plan = await planEvent({ catalogue, ledger: harness.ledger, searchAttributes: [] }, one.eventKey, one.input);
  expect(plan).toMatchObject({ kind: 'planned', plan: { effects: [], abandoned: { by: 'ann' } } });
  const { query, schema } = database();
  expect(await readPlan(query, schema, '', one.eventKey)).toMatchObject({
    type: 'order.paid',
    digest: one.input.digest,
  });
});
