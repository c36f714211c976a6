import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { businessKey } from '../../src/identity/business-identity.js';
import { claimEffect } from '../../src/ledger/claim-effect.js';
import { completeEffect, endEffect } from '../../src/ledger/complete-effect.js';
import type { Sql } from '../../src/ledger/database.js';
import { recordPlan } from '../../src/ledger/record-plan.js';
import { writeDeadLetter } from '../../src/ledger/write-dead-letter.js';
import { createGate } from '../hazards/support/gate.js';
import { shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness?.close());

const limits = { statementTimeoutMs: 5000, lockTimeoutMs: 3000, idleTimeoutMs: 5000 };
const inTransaction = <Result>(work: (sql: Sql) => Promise<Result>) =>
  harness.ledger.database.transaction((_tx, sql) => work(sql), limits);

/** An event with these effects, as a plan records it. */
async function recorded(...effects: string[]) {
  const id = randomUUID();
  const event = {
    tenant: '',
    eventKey: `event//shop/${id}`,
    source: 'shop',
    id,
    type: 'order.paid',
    digest: 'digest',
    input: '{}',
    receivedAt: new Date().toISOString(),
  };
  await recordPlan(harness.ledger.database.query, harness.ledger.schema, {
    ...event,
    body: Buffer.from('{}'),
    effects: effects.map((effect) => ({ effect, businessKey: id })),
  });
  return event;
}
type Event = Awaited<ReturnType<typeof recorded>>;
const identityOf = (event: Event, effect: string) => ({
  tenant: '',
  effect,
  names: [effect],
  businessKey: businessKey(event.id),
  eventKey: event.eventKey,
  owner: randomUUID(),
});
async function complete(sql: Sql, event: Event, effect: string): Promise<void> {
  const { schema } = harness.ledger;
  const identity = identityOf(event, effect);
  const claim = await claimEffect(sql, schema, {
    ...identity,
    source: 'shop',
    event: `shop/${event.id}`,
    dataDigest: '',
    lockTimeoutMs: 3000,
  });
  if (claim.path === 'claimed') await completeEffect(sql, schema, { ...identity, ...claim, result: '1' });
}
const deadLetter = (sql: Sql, event: Event) =>
  writeDeadLetter(sql, harness.ledger.schema, {
    ...event,
    code: 'c',
    message: 'm',
    effects: '[]',
    runId: randomUUID(),
    body: undefined,
  });
const stateOf = async (event: Event) =>
  (await harness.sql('SELECT state, remaining FROM onefold.events WHERE event_key = $1', [event.eventKey]))[0];
const openLetters = async (event: Event) =>
  (await harness.sql('SELECT 1 FROM onefold.dead_letters WHERE event_key = $1 AND closed_at IS NULL', [event.eventKey]))
    .length;

test('twelve effects that complete side by side end their event exactly once', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `effect-${index}`);
  const event = await recorded(...names);
  await Promise.all(names.map((name) => inTransaction((sql) => complete(sql, event, name))));
  expect(await stateOf(event)).toEqual({ state: 'done', remaining: 0 });
});

test('an effect that ends twice for its event counts once', async () => {
  const event = await recorded('one', 'other');
  await inTransaction((sql) => complete(sql, event, 'one'));
  for (let i = 0; i < 3; i++) {
    await inTransaction((sql) =>
      endEffect(sql, harness.ledger.schema, { ...identityOf(event, 'one'), outcome: 'done' }),
    );
  }
  expect(await stateOf(event)).toEqual({ state: 'open', remaining: 1 });
});

test('a dead letter written while the last effect commits is closed with it', async () => {
  const event = await recorded('one');
  const gate = createGate();
  const letter = inTransaction(async (sql) => {
    expect(await deadLetter(sql, event)).toEqual({ open: true, counted: true });
    await gate.pass();
  });
  await gate.reached;
  const completion = inTransaction((sql) => complete(sql, event, 'one'));
  await sleep(200);
  gate.open();
  await Promise.all([letter, completion]);
  expect({ ...(await stateOf(event)), open: await openLetters(event) }).toEqual({
    state: 'done',
    remaining: 0,
    open: 0,
  });
});

test('a dead letter that comes after the last effect is none', async () => {
  const event = await recorded('one');
  const gate = createGate();
  const completion = inTransaction(async (sql) => {
    await complete(sql, event, 'one');
    await gate.pass();
  });
  await gate.reached;
  const letter = inTransaction((sql) => deadLetter(sql, event));
  await sleep(200);
  gate.open();
  await completion;
  expect(await letter).toEqual({ open: false, counted: false });
  expect({ ...(await stateOf(event)), open: await openLetters(event) }).toEqual({
    state: 'done',
    remaining: 0,
    open: 0,
  });
});

test('a completion of another transaction than the claim is refused, and its event stays open', async () => {
  const event = await recorded('one');
  const identity = identityOf(event, 'one');
  const { schema } = harness.ledger;
  const claim = await inTransaction((sql) =>
    claimEffect(sql, schema, { ...identity, source: 'shop', event: 'shop/1', dataDigest: '', lockTimeoutMs: 1000 }),
  );
  if (claim.path !== 'claimed') throw new Error('not claimed');
  await expect(
    inTransaction((sql) => completeEffect(sql, schema, { ...identity, ...claim, result: '1' })),
  ).rejects.toMatchObject({ code: 'transaction_split' });
  expect(await stateOf(event)).toEqual({ state: 'open', remaining: 1 });
});

test('a completion with another owner or fence than the claim is refused', async () => {
  for (const wrong of [{ owner: randomUUID() }, { fences: [2] }]) {
    const event = await recorded('one');
    const identity = identityOf(event, 'one');
    const { schema } = harness.ledger;
    const completion = inTransaction(async (sql) => {
      const claim = await claimEffect(sql, schema, {
        ...identity,
        source: 'shop',
        event: 'shop/1',
        dataDigest: '',
        lockTimeoutMs: 1000,
      });
      if (claim.path === 'claimed') await completeEffect(sql, schema, { ...identity, ...claim, result: '1', ...wrong });
    });
    await expect(completion).rejects.toMatchObject({ code: 'transaction_split' });
  }
});
