import { expect, test } from 'vitest';
import { perEvent } from '../../../src/effects/declare-effect.js';
import type { ExternalEffectOptions } from '../../../src/effects/define-external-effect.js';
import type { Effect, ExternalEffect } from '../../../src/effects/effect.js';
import { forwardsKey, park, reconcile } from '../../../src/effects/recovery.js';
import { checkEffect } from '../../../src/operations/check/check-effect.js';
import { standardWebhooks } from '../../../src/sources/standard-webhooks.js';
import { types } from '../../../src/sources/types.js';

const events = { 'order.paid': types<{ readonly order: string }>() };
const shop = standardWebhooks('shop', { secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=', events });
const ask = async () => 'unknown' as const;

type Options = ExternalEffectOptions<'shop', typeof events, 'order.paid', undefined>;

function external(options: Partial<Options> = {}): ExternalEffect {
  return shop.externalEffect('charge-card', {
    on: 'order.paid',
    businessKey: perEvent,
    perform: async () => undefined,
    recovery: park(),
    ...options,
  });
}

function local(options: object = {}): Effect {
  return shop.effect('ship-order', { on: 'order.paid', businessKey: perEvent, commit: async () => {}, ...options });
}

/** A configuration that was built with another version of the package can hold what this one refuses to make. */
function foreign(changes: object): ExternalEffect {
  return { ...external(), ...changes } as ExternalEffect;
}

function idsOf(effect: Effect, graceMs = 10_000): string[] {
  return checkEffect(effect, graceMs).findings.map(({ id }) => id);
}

test('an effect with the defaults is free of findings, local or external', () => {
  expect(idsOf(local())).toEqual([]);
  expect(idsOf(external())).toEqual([]);
});

test('the business identity is the name that the ledger keys by, the key function, and the former names', () => {
  const renamed = local({
    formerly: ['ship', 'send'],
    businessKey: (event: { data: { order: string } }) => `shipment:${event.data.order}`,
  });
  expect(checkEffect(renamed, 0).effect.businessIdentity).toEqual({
    effect: 'ship',
    formerly: ['ship', 'send'],
    key: expect.stringMatching(/^\(?event\)? ?=> ?`shipment:\$\{event\.data\.order\}`$/),
  });
  expect(checkEffect(local(), 0).effect.businessIdentity.key).toBe('perEvent (source/event-id)');
});

test('a key function that goes over many lines is shown on one, and cut', () => {
  const long = (event: { id: string }) => {
    const parts = [
      event.id,
      'a text that is',
      'long enough to be',
      'cut somewhere in its',
      'middle, since nobody reads',
    ];
    return parts.join('/');
  };
  const { key } = checkEffect(local({ businessKey: long }), 0).effect.businessIdentity;
  expect(key).not.toContain('\n');
  expect(key).toMatch(/^.{119}…$/);
});

test.each([
  ['the elapsed time', { maximumElapsed: '24 hours' }],
  ['many attempts', { initialInterval: '8 hours', maximumAttempts: 10, maximumElapsed: '300 days' }],
])('a key that is outlived by %s is a problem, unless the recipient can be asked', (_what, retry) => {
  const { findings } = checkEffect(external({ retry, recovery: forwardsKey({ validFor: '24 hours' }) }), 10_000);
  expect(findings).toMatchObject([{ id: 'key_outlived', level: 'problem', place: "effect 'charge-card'" }]);
  expect(findings[0]?.message).toMatch(/go on for .*, and the recipient remembers the key for 24 hours/);
  expect(findings[0]?.remedy).toMatch(/maximumElapsed: '23h'.* or give forwardsKey a `reconcile`/);
  expect(idsOf(external({ retry, recovery: forwardsKey({ validFor: '24 hours', reconcile: ask }) }))).toEqual([]);
});

test('the budget of a forwarded key is its elapsed time and one attempt more, to the ms', () => {
  const recovery = forwardsKey({ validFor: '24 hours' });
  const day = 86_400_000;
  expect(idsOf(external({ recovery, retry: { maximumElapsed: day - 30_000 } }))).toEqual([]);
  expect(idsOf(external({ recovery, retry: { maximumElapsed: day - 29_999 } }))).toEqual(['key_outlived']);
});

test('attempts that end before the elapsed time are the budget, each as long as the lease that it may leave behind', () => {
  // Two pauses of at most 10 s, two leases of 40 s, and a last attempt of 30 s.
  const retry = { initialInterval: '10 seconds', backoffCoefficient: 1, maximumAttempts: 3 };
  expect(idsOf(external({ retry, recovery: forwardsKey({ validFor: 130_000 }) }))).toEqual([]);
  expect(idsOf(external({ retry, recovery: forwardsKey({ validFor: 129_999 }) }))).toEqual(['key_outlived']);
});

test('an external effect without a recovery is a problem, and nothing finishes its work', () => {
  for (const recovery of [undefined, { kind: 'hope' }]) {
    const { effect, findings } = checkEffect(foreign({ recovery }), 10_000);
    expect(findings).toMatchObject([{ id: 'recovery_missing', level: 'problem' }]);
    expect(effect.whatFinishes).toEqual([]);
  }
});

test('a lease that can end under a living attempt is a problem', () => {
  expect(checkEffect(foreign({ leaseMs: 39_999 }), 10_000).findings).toMatchObject([
    { id: 'lease_too_short', level: 'problem', message: expect.stringMatching(/^its lease: 39999 ms, and it must be/) },
  ]);
  expect(idsOf(foreign({ leaseMs: 40_000 }))).toEqual([]);
  expect(idsOf(foreign({ leaseMs: 59_999, heartbeatMs: 20_000 }))).toEqual(['lease_too_short']);
});

test('a lease that the grace of the workers reaches is a problem, and a shorter grace is none', () => {
  const declared = external({ lease: '1 minute' });
  expect(checkEffect(declared, 60_000).findings).toMatchObject([{ id: 'lease_within_grace', level: 'problem' }]);
  expect(idsOf(declared, 59_999)).toEqual([]);
});

test('a single attempt is a warning, since a dead worker may spend it', () => {
  const retry = { maximumAttempts: 1 };
  const resent = external({ retry, recovery: forwardsKey({ validFor: '30 days' }) });
  for (const effect of [local({ retry }), resent]) {
    const checked = checkEffect(effect, 10_000);
    expect(checked.findings).toMatchObject([{ id: 'single_attempt', level: 'warning' }]);
    expect(checked.findings[0]?.message).toMatch(/the event is then a dead letter$/);
    expect(checked.effect.whatFinishes.at(-1)).toMatch(/spent the single attempt/);
  }
});

test('a single attempt that leaves its outcome to a person or to asking is said to be parked, not asked about', () => {
  for (const recovery of [park(), reconcile(ask)]) {
    const { findings, effect } = checkEffect(external({ retry: { maximumAttempts: 1 }, recovery }), 10_000);
    expect(findings).toMatchObject([{ id: 'single_attempt', message: expect.stringMatching(/it is then parked/) }]);
    const answer = effect.whatFinishes.join(' ');
    expect(answer).toMatch(/spent the single attempt: when the lease is over it is parked: .*onefold resolve/);
    expect(answer).not.toMatch(/next attempt|asks the recipient/);
  }
});

test('each recovery says what finishes the work', () => {
  const answer = (effect: Effect) => checkEffect(effect, 10_000).effect.whatFinishes.join(' ');
  expect(answer(local())).toMatch(/one transaction.*Temporal's next attempt writes, or finds the completion/);
  expect(answer(external({ recovery: forwardsKey({ validFor: '24 hours' }) }))).toMatch(
    /lease ends within 40 seconds.*Temporal's next attempt sends the same request under the same key.*for 24 hours.*Later it is parked.*onefold resolve/,
  );
  expect(answer(external({ recovery: forwardsKey({ validFor: '24 hours', reconcile: ask }) }))).toMatch(
    /same request under the same key.*Later it asks the recipient first.*Done.*Absent, believed 1 minute.*Unknown: .*then the event is a dead letter/,
  );
  expect(answer(external({ recovery: reconcile(ask, { settleAfter: '5 minutes' }) }))).toMatch(
    /asks the recipient\. Done: .* Absent, believed 5 minutes after the lease: performed\. Unknown: .*then parked/,
  );
  expect(answer(external({ parkedAtMost: '7 days' }))).toMatch(
    /next attempt parks it: .*within 7 days, else .* dead letter/,
  );
  expect(answer(external({ heartbeat: '5 seconds' }))).toContain('15 seconds after the last heartbeat');
  expect(answer(external())).not.toContain('`commit`');
  expect(answer(external({ commit: async () => {} }))).toContain('only `commit` and the completion are made up for');
});

test('supersede, recovery, lease and heartbeat are told as numbers', () => {
  const effect = external({
    supersede: { by: () => 'order:1', version: () => 1 },
    heartbeat: '5 seconds',
    recovery: forwardsKey({ validFor: '7 days', reconcile: ask }),
  });
  expect(checkEffect(effect, 10_000).effect).toMatchObject({
    kind: 'external',
    supersedes: true,
    timeoutMs: 30_000,
    leaseMs: 15_000,
    heartbeatMs: 5_000,
    recovery: {
      kind: 'forwardsKey',
      validForMs: 604_800_000,
      settleAfterMs: 60_000,
      asks: true,
      parkedAtMostMs: 2_592_000_000,
    },
  });
  expect(checkEffect(external(), 0).effect.recovery).toEqual({
    kind: 'park',
    asks: false,
    parkedAtMostMs: 2_592_000_000,
  });
});
