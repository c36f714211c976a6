import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AttemptVanished, type OnStep } from '../../src/effects/attempt-steps.js';
import { buildEvent } from '../../src/effects/build-event.js';
import { carryExternalAttempt } from '../../src/effects/carry-external-attempt.js';
import { NotDoneError } from '../../src/effects/errors.js';
import { forwardsKey } from '../../src/effects/recovery.js';
import { businessKey } from '../../src/identity/business-identity.js';
import { shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

/** An effect as three deploys know it: before the renaming, after it, and after it was said to be one. */
const names = { old: ['ship-order'], renamed: ['dispatch'], declared: ['dispatch', 'ship-order'] } as const;

let harness: Harness;
let order: string;
let calls: string[];
/** What the next call answers, where it is no success. */
let refusal: Error | undefined;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness.close());
beforeEach(() => {
  order = `order-${randomUUID()}`;
  calls = [];
});

async function attempt(worker: keyof typeof names, onStep?: OnStep) {
  const [name, formerly] = names[worker];
  const effect = shop.externalEffect(name, {
    on: 'order.paid',
    businessKey: () => order,
    ...(formerly ? { formerly } : {}),
    perform: async ({ idempotencyKey }) => {
      calls.push(idempotencyKey);
      if (refusal) throw refusal;
      return idempotencyKey;
    },
    recovery: forwardsKey({ validFor: '1 day' }),
  });
  const id = randomUUID();
  const envelope = { tenant: '', id, type: 'order.paid', receivedAt: new Date().toISOString() };
  const built = await buildEvent(shop, envelope, JSON.stringify({ type: 'order.paid', data: { order } }));
  return carryExternalAttempt({
    ledger: harness.ledger,
    attempt: {
      effect,
      ...built,
      eventKey: `event//shop/${id}`,
      businessKey: businessKey(order),
      attempt: 1,
      owner: randomUUID(),
      startedAt: Date.now(),
      timeoutMs: 5000,
      nonRetryable: [],
      signal: new AbortController().signal,
      readEvent: async () => built.event,
      ...(onStep ? { onStep } : {}),
    },
  });
}
const vanish = async (worker: keyof typeof names) => {
  const dying = attempt(worker, (step) => {
    if (step === 'after_call') throw new AttemptVanished(step);
  });
  await expect(dying).rejects.toThrow(AttemptVanished);
  await harness.sql(
    `UPDATE onefold.effects SET lease_until = now() - interval '1 s', acting_until = now() - interval '1 s' WHERE business_key = $1`,
    [order],
  );
};

test.each(['old', 'renamed'] as const)(
  'what was done by the %s worker is done for the one that declares both names',
  async (before) => {
    await attempt(before);
    expect(await attempt('declared')).toMatchObject({ outcome: 'already_done' });
    expect(calls).toHaveLength(1);
  },
);

test.each(['old', 'renamed'] as const)('what was done under both names is done for the %s worker', async (after) => {
  await attempt('declared');
  expect(await attempt(after)).toMatchObject({ outcome: 'already_done' });
  expect(calls).toHaveLength(1);
});

test.each(['old', 'renamed'] as const)(
  'what the %s worker left unknown is recovered under the key that it sent',
  async (before) => {
    await vanish(before);
    expect(await attempt('declared')).toMatchObject({ kind: 'ended' });
    expect(calls).toHaveLength(2);
    expect(new Set(calls).size).toBe(1);
    expect(await harness.sql('SELECT DISTINCT state FROM onefold.effects WHERE business_key = $1', [order])).toEqual([
      { state: 'done' },
    ]);
  },
);

test('a lease under one name keeps out who claims under both, and leaves no row of theirs', async () => {
  await attempt('renamed', async (step) => {
    if (step !== 'before_call') return;
    expect(await attempt('declared')).toMatchObject({ kind: 'failed', detail: { code: 'claim_waiting' } });
    expect(await harness.sql('SELECT effect FROM onefold.effects WHERE business_key = $1', [order])).toEqual([
      { effect: 'dispatch' },
    ]);
  });
  expect(calls).toHaveLength(1);
});

test('of workers before and after the declaration, all at once, one calls', async () => {
  for (let round = 0; round < 15; round++) {
    order = `order-${randomUUID()}`;
    calls = [];
    await Promise.all((['old', 'declared', 'old', 'declared'] as const).map((worker) => attempt(worker)));
    expect(calls).toHaveLength(1);
  }
});

test('whatever the names sort like, every recovery sends the key of the attempt that is in doubt', async () => {
  // The first key is spent by a proven failure, so that a row of the other name would begin with another one.
  refusal = new NotDoneError('declined');
  await attempt('old');
  refusal = undefined;
  await vanish('old');
  await vanish('declared');
  await attempt('declared');
  const [spent, ...sent] = calls;
  expect(sent).toHaveLength(3);
  expect(new Set(sent).size).toBe(1);
  expect(sent[0]).not.toBe(spent);
});
