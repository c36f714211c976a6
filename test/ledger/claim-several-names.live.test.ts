import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { businessKey } from '../../src/identity/business-identity.js';
import { claimEffect } from '../../src/ledger/claim-effect.js';
import { completeEffect, endEffect } from '../../src/ledger/complete-effect.js';
import type { Sql } from '../../src/ledger/database.js';
import { readPlan } from '../../src/ledger/read-plan.js';
import { recordPlan } from '../../src/ledger/record-plan.js';
import { createGate } from '../hazards/support/gate.js';
import { shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness?.close());

/** Renamed from `old` without saying so, and saying so since. */
const bare = { effect: 'new', names: ['new'] };
const declared = { effect: 'old', names: ['old', 'new'] };
type Deploy = typeof bare;

/** One attempt as a worker of that deploy makes it: true where it did the work. */
function attempt(deploy: Deploy, key: string, eventKey: string, work: (sql: Sql) => Promise<unknown> = async () => {}) {
  const { schema } = harness.ledger;
  const identity = { tenant: '', ...deploy, businessKey: businessKey(key), eventKey, owner: randomUUID() };
  return harness.ledger.database.transaction(
    async (_tx, sql) => {
      const claim = await claimEffect(sql, schema, {
        ...identity,
        source: 'shop',
        event: 'shop/1',
        dataDigest: '',
        lockTimeoutMs: 3000,
      });
      if (claim.path === 'done') {
        await endEffect(sql, schema, { ...identity, effect: claim.effect, outcome: 'already_done' });
        return false;
      }
      await work(sql);
      await completeEffect(sql, schema, { ...identity, ...claim, result: '7' });
      return true;
    },
    { statementTimeoutMs: 5000, lockTimeoutMs: 3000, idleTimeoutMs: 5000 },
  );
}
const rows = (key: string) =>
  harness.sql('SELECT effect, state FROM onefold.effects WHERE business_key = $1 ORDER BY effect', [key]);

test.each([
  ['before', bare, declared],
  ['after', declared, bare],
])(
  'a worker of the deploy %s formerly was declared works, and one of the other waits and finds it done',
  async (_when, first, second) => {
    const key = randomUUID();
    const gate = createGate();
    const holder = attempt(first, key, 'one', () => gate.pass());
    await gate.reached;
    const waiter = attempt(second, key, 'other');
    await sleep(200);
    gate.open();
    expect(await Promise.all([holder, waiter])).toEqual([true, false]);
    expect((await rows(key)).filter(({ state }) => state === 'claimed')).toEqual([]);
    expect(await attempt(second, key, 'third')).toBe(false);
  },
);

test('twenty workers of both deploys at once do it once', async () => {
  const key = randomUUID();
  const attempts = Array.from({ length: 20 }, (_, index) =>
    attempt(index % 2 ? bare : declared, key, `event-${index}`, () => sleep(20)),
  );
  expect((await Promise.all(attempts)).filter(Boolean)).toHaveLength(1);
});

test('an effect with one name is claimed in one row', async () => {
  const key = randomUUID();
  await attempt(bare, key, 'one');
  expect(await rows(key)).toEqual([{ effect: 'new', state: 'done' }]);
});

test.each([
  ['planned under the old name, done under the new one', 'old', bare],
  ['planned under the new name, done under the old one', 'new', { effect: 'old', names: ['old'] }],
])('an event %s keeps its result and its fence', async (_what, plannedAs, doneUnder) => {
  const key = randomUUID();
  const eventKey = `event//shop/${key}`;
  const { query } = harness.ledger.database;
  await recordPlan(query, harness.ledger.schema, {
    tenant: '',
    eventKey,
    source: 'shop',
    id: key,
    type: 'order.paid',
    digest: 'digest',
    input: '{}',
    receivedAt: new Date().toISOString(),
    body: Buffer.from('{}'),
    effects: [{ effect: plannedAs, businessKey: key }],
  });
  await attempt(doneUnder, key, 'another event');
  expect(await attempt(declared, key, eventKey)).toBe(false);
  const recorded = await readPlan(query, harness.ledger.schema, '', eventKey);
  expect(recorded?.effects).toEqual([
    {
      effect: plannedAs,
      businessKey: key,
      ended: { outcome: 'already_done', fence: 1, doneBy: 'shop/1', result: { json: '7' } },
    },
  ]);
});
