import { expect, test } from 'vitest';
import type { ExternalEffectOptions } from '../../src/effects/define-external-effect.js';
import type { ExternalEffect } from '../../src/effects/effect.js';
import { checkLeaseAgainstGrace } from '../../src/effects/lease.js';
import { forwardsKey, park, reconcile } from '../../src/effects/recovery.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';

const shop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.paid': types<{ order: string }>() },
});
const declare = (options: object = {}): ExternalEffect =>
  shop.externalEffect('charge-card', {
    on: 'order.paid',
    businessKey: ({ data }) => data.order,
    perform: async () => null,
    recovery: park(),
    ...options,
  } as ExternalEffectOptions<'shop', typeof shop.events, 'order.paid', null>);

test('the defaults outlive the attempt', () => {
  expect(declare()).toMatchObject({
    kind: 'external',
    policy: { timeoutMs: 30_000 },
    leaseMs: 40_000,
    leaseDeclared: false,
    parkedAtMostMs: 30 * 86_400_000,
  });
  expect(declare({ timeout: '6 hours', heartbeat: '5 seconds' })).toMatchObject({ leaseMs: 15_000, heartbeatMs: 5000 });
});

test.each([
  ['recovery', { recovery: undefined }, /recovery: say what finishes the work/],
  ['a recovery of another make', { recovery: { kind: 'hope' } }, /recovery: say what finishes the work/],
  ['perform', { perform: undefined }, /perform: expected a function, got undefined/],
  ['commit', { commit: 'x' }, /commit: expected a function, got string/],
  ['provesNothingDone', { provesNothingDone: true }, /provesNothingDone: expected a function/],
  ['a misspelt option', { recoverry: park() }, /unknown option 'recoverry'; did you mean 'recovery'/],
  [
    'a lease below the timeout and its margin',
    { timeout: 30_000, lease: 39_999 },
    /lease: 39999 ms, and it must be at least the timeout of 30000 ms and 10000 ms more/,
  ],
  [
    'a lease of fewer than three heartbeats',
    { heartbeat: 1000, lease: 2999 },
    /lease: 2999 ms, and it must be at least 3 heartbeats of 1000 ms/,
  ],
  [
    'a heartbeat longer than the attempt',
    { timeout: 1000, heartbeat: 1001 },
    /heartbeat: 1001 ms, and it must be from 200 ms to the attempt's timeout of 1000 ms/,
  ],
  ['a heartbeat too quick', { heartbeat: 199 }, /heartbeat: 199 ms/],
  ['a timeout too long without heartbeats', { timeout: '61 minutes' }, /timeout: at most 1 hour/],
  ['supersede without a version', { supersede: { by: (): string => 'x' } }, /supersede.version: expected a function/],
  [
    'an unknown part of supersede',
    { supersede: { by: (): string => 'x', version: () => 1, on: 1 } },
    /supersede: unknown option 'on'/,
  ],
])('%s is refused with the place and the reason', (_name, options, message) => {
  expect(() => declare(options)).toThrow(message);
});

test('lease and heartbeat are taken at their bounds', () => {
  expect(declare({ timeout: 30_000, lease: 40_000 }).leaseMs).toBe(40_000);
  expect(declare({ heartbeat: 1000, lease: 3000 }).leaseMs).toBe(3000);
  expect(declare({ timeout: 1000, heartbeat: 1000 }).heartbeatMs).toBe(1000);
});

test('a lease that was chosen must outlast the grace of a stopping worker', () => {
  const effect = declare({ timeout: 5000, lease: 15_000 });
  expect(() => checkLeaseAgainstGrace(effect, 15_000)).toThrow(
    /shutdownGraceMs: 15000 ms is not below the lease of effect 'charge-card', 15000 ms/,
  );
  expect(() => checkLeaseAgainstGrace(effect, 14_999)).not.toThrow();
  expect(() => checkLeaseAgainstGrace(declare({ timeout: 5000 }), 60_000)).not.toThrow();
  expect(() => checkLeaseAgainstGrace(declare({ heartbeat: 1000, lease: 3000 }), 60_000)).not.toThrow();
});

test.each([
  [() => forwardsKey(undefined as never), /forwardsKey: say how long the recipient remembers/],
  [() => forwardsKey({} as never), /forwardsKey.validFor: expected a duration/],
  [() => forwardsKey({ validFor: '1 day', reconcil: async () => 'absent' } as never), /unknown option 'reconcil'/],
  [() => forwardsKey({ validFor: '1 day', reconcile: 'ask' } as never), /forwardsKey.reconcile: expected a function/],
  [
    () => forwardsKey({ validFor: '1 day', reconcile: reconcile(async () => 'absent') } as never),
    /give the function itself that asks the recipient/,
  ],
  [() => reconcile(undefined as never), /reconcile: expected a function that asks the recipient, got undefined/],
  [() => reconcile(async () => 'absent', { settleAfter: 0 }), /reconcile.settleAfter: expected a duration/],
])('a recovery that could not work is refused where it is made', (make, message) => {
  expect(make).toThrow(message);
});

test('durations are kept in ms, with a minute to settle', () => {
  const ask = async () => 'absent' as const;
  expect(forwardsKey({ validFor: '24h' })).toEqual({ kind: 'forwardsKey', validForMs: 86_400_000 });
  expect(forwardsKey({ validFor: '24h', reconcile: ask })).toMatchObject({ ask, settleAfterMs: 60_000 });
  expect(reconcile(ask, { settleAfter: '5 seconds' })).toMatchObject({ ask, settleAfterMs: 5000 });
  expect(park()).toEqual({ kind: 'park' });
});
