import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { forwardsKey } from '../../src/effects/recovery.js';
import { stripe } from '../../src/sources/stripe.js';
import { types } from '../../src/sources/types.js';
import { createGate, type Gate } from '../hazards/support/gate.js';
import { until } from '../hazards/support/until.js';
import { createHarness, type Harness, resultOf, type TestEvent } from '../setup/harness.js';
import { readCase } from '../sources/read-case.js';

interface Subscription {
  readonly created: number;
  readonly data: { readonly object: { readonly id: string; readonly status: string } };
}
const billing = stripe('tv1', {
  secrets: 'whsec_fake_tv1_secret',
  events: { 'subscription.created': types<Subscription>(), 'subscription.updated': types<Subscription>() },
});
const both = ['subscription.created', 'subscription.updated'] as const;
const supersede = {
  by: ({ data }: { data: Subscription }) => data.data.object.id,
  version: ({ data }: { data: Subscription }) => data.created,
};
/** By subscription: an attempt waits there before it writes. */
let gates: Map<string, Gate>;
let sent: string[];
/** Events whose call breaks. */
let failing: Set<string>;
const keep = billing.effect('keep-status', {
  on: both,
  businessKey: ({ id }) => `event:${id}`,
  supersede,
  retry: { initialInterval: 50, maximumInterval: 100 },
  commit: async ({ event: { data, id }, tx }) => {
    await gates.get(id)?.pass();
    const { object } = data.data;
    await tx.query(
      'INSERT INTO subscriptions VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET status = EXCLUDED.status',
      [object.id, object.status],
    );
    return object.status;
  },
});
const tell = billing.externalEffect('tell-partner', {
  on: both,
  businessKey: ({ id }) => `event:${id}`,
  supersede,
  timeout: '3 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 second' },
  perform: async ({ event: { data, id } }) => {
    await gates.get(id)?.pass();
    if (failing.has(id)) throw new Error('the connection broke');
    sent.push(data.data.object.status);
  },
  recovery: forwardsKey({ validFor: '1 day' }),
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness(
    { sources: [billing], effects: [keep, tell] },
    { setup: 'CREATE TABLE subscriptions (id text PRIMARY KEY, status text NOT NULL)' },
  );
});
afterAll(() => harness.close());
beforeEach(() => {
  gates = new Map();
  sent = [];
  failing = new Set();
});

let subscription: string;
beforeEach(() => {
  subscription = `sub-${randomUUID()}`;
});
const state = (created: number, status: string, effect = 'keep-status'): TestEvent => {
  const id = `evt-${randomUUID()}`;
  const type = status === 'incomplete' ? 'subscription.created' : 'subscription.updated';
  const body = { id, type, created, data: { object: { id: subscription, status } } };
  return { source: 'tv1', id, type, body, effects: [effect] };
};
const run = async (event: TestEvent) => resultOf(await harness.start(event));
const held = async () =>
  (await harness.sql('SELECT status FROM subscriptions WHERE id = $1', [subscription]))[0]?.status;
const line = (msg: string, event: TestEvent) =>
  harness.lines.find((one) => one.msg === msg && one.event === `tv1/${event.id}`);

describe('case older-state-arrives-later', () => {
  const known = readCase('older-state-arrives-later');
  const events = () => {
    const bodies = (known.given.requests as { name: string; body: { text: string } }[]).map(({ body }) =>
      JSON.parse(body.text),
    );
    const suffix = randomUUID().slice(0, 8);
    return bodies.map((body): TestEvent => {
      const id = `${body.id}-${suffix}`;
      body.id = id;
      body.data.object.id = subscription;
      return { source: 'tv1', id, type: body.type, body, effects: ['keep-status'] };
    }) as [TestEvent, TestEvent, TestEvent];
  };
  const final = (known.expect.finalState as Record<string, string>).sub_1;

  test('in the order of the case, the older state ends as stale and the newer one stays', async () => {
    const [updated, created, again] = events();
    expect(await run(updated)).toMatchObject({ outcome: 'done' });
    expect(await run(created)).toMatchObject({
      outcome: 'stale',
      effects: [{ outcome: 'stale', doneBy: `tv1/${updated.id}` }],
    });
    expect(await run(again)).toMatchObject({ outcome: 'already_done', effects: [{ attempts: 0 }] });
    expect(await held()).toBe(final);
    expect(await harness.sql('SELECT 1 FROM onefold.dead_letters WHERE closed_at IS NULL')).toEqual([]);
  });

  test.each([0, 1])('started together, whichever of the two is first, the newer state stays (%i)', async (first) => {
    const [updated, created] = events();
    const order = first === 0 ? [updated, created] : [created, updated];
    const gate = createGate();
    gates.set(order[0]?.id as string, gate);
    const one = run(order[0] as TestEvent);
    await gate.reached;
    const two = run(order[1] as TestEvent);
    await until('the second to wait for the lineage', async () => {
      const waiting = await harness.sql(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return waiting.length > 0;
    });
    gate.open();
    const outcomes = [(await one).outcome, (await two).outcome];
    expect(outcomes).toEqual(first === 0 ? ['done', 'stale'] : ['done', 'done']);
    expect(await held()).toBe(final);
  });
});

test('the end of a stale effect closes its event, and leaves no claim behind', async () => {
  await run(state(20, 'active'));
  const older = state(10, 'incomplete');
  await run(older);
  expect(await harness.sql('SELECT state, remaining FROM onefold.events WHERE event_id = $1', [older.id])).toEqual([
    { state: 'done', remaining: 0 },
  ]);
  expect(await harness.sql('SELECT 1 FROM onefold.effects WHERE business_key = $1', [`event:${older.id}`])).toEqual([]);
});

test('of equal versions both are carried, and the second is said to be equal', async () => {
  const first = state(10, 'active');
  const second = state(10, 'past_due');
  await run(first);
  expect(await run(second)).toMatchObject({
    outcome: 'done',
    effects: [{ outcome: 'done', equalTo: `tv1/${first.id}` }],
  });
  expect(await held()).toBe('past_due');
  expect(line('effect.equal_version', second)).toMatchObject({ equalTo: `tv1/${first.id}`, code: 'equal_version' });
  expect(line('effect.equal_version', first)).toBeUndefined();
});

test('a state that could not be written does not make an older one stale', async () => {
  const broken = state(20, 'active');
  (broken.body as { data: { object: { status: unknown } } }).data.object.status = null;
  const handle = await harness.start(broken);
  await until('a failed attempt', () => line('effect.failed', broken) !== undefined);
  expect(await run(state(10, 'incomplete'))).toMatchObject({ outcome: 'done' });
  await handle.terminate();
});

test('what is no version is a permanent failure', async () => {
  const event = state(Number.NaN, 'active');
  await expect(resultOf(await harness.start(event))).rejects.toMatchObject({ cause: { type: 'version_invalid' } });
});

describe('an external effect', () => {
  test('does not call for an older state', async () => {
    expect(await run(state(20, 'active', 'tell-partner'))).toMatchObject({ outcome: 'done' });
    expect(await run(state(10, 'incomplete', 'tell-partner'))).toMatchObject({ outcome: 'stale' });
    expect(sent).toEqual(['active']);
  });

  test('does not call for a newer state while an older one is under way', async () => {
    const older = state(10, 'incomplete', 'tell-partner');
    const newer = state(20, 'active', 'tell-partner');
    const gate = createGate();
    gates.set(older.id, gate);
    const one = run(older);
    await gate.reached;
    const two = run(newer);
    await until('the newer one to wait', () => line('effect.waiting', newer)?.code === 'claim_waiting');
    expect(sent).toEqual([]);
    gate.open();
    expect([(await one).outcome, (await two).outcome]).toEqual(['done', 'done']);
    expect(sent).toEqual(['incomplete', 'active']);
  });

  test('does not call for a newer state while code of an older one that was given up may still run', async () => {
    const older = state(10, 'incomplete', 'tell-partner');
    const newer = state(20, 'active', 'tell-partner');
    const gate = createGate();
    gates.set(older.id, gate);
    const one = run(older);
    await gate.reached;
    await until('it to be given up', () => line('effect.outcome_unknown', older)?.code === 'attempt_timed_out');
    const two = run(newer);
    await until('the newer one to wait', () => line('effect.waiting', newer)?.code === 'claim_waiting');
    expect(sent).toEqual([]);
    gate.open();
    await Promise.all([one, two]);
    expect(sent.at(-1)).toBe('active');
  });

  test('says of an older state whose outcome is unknown that it may have taken hold', async () => {
    const older = state(10, 'incomplete', 'tell-partner');
    failing.add(older.id);
    const one = run(older);
    await until('the unknown outcome', () => line('effect.outcome_unknown', older) !== undefined);
    await run(state(20, 'active', 'tell-partner'));
    expect(await one).toMatchObject({ outcome: 'stale', effects: [{ outcome: 'stale', code: 'outcome_unknown' }] });
    const told = harness.lines.filter(({ event, outcome }) => event === `tv1/${older.id}` && outcome === 'stale');
    expect(told.map(({ msg }) => msg)).toContain('effect.outcome_unknown');
  });
});
