import { expect, test } from 'vitest';
import { perEvent } from '../../src/effects/declare-effect.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';

const shop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.paid': types<unknown>() },
});
const effect = (options: object) =>
  shop.effect('ship', { on: 'order.paid', businessKey: perEvent, commit: async () => {}, ...options });

test.each([
  ['a timeout that a timer cannot hold', { timeout: '30 days' }, '.timeout: at most 1 hour, got "30 days"'],
  ['a timeout just beyond the bound', { timeout: 3_600_001 }, '.timeout: at most 1 hour, got 3600001'],
  ['an interval beyond a year', { retry: { maximumInterval: '366 days' } }, '.maximumInterval: at most 365 days'],
  ['one error type instead of a list', { retry: { nonRetryableErrorTypes: '23505' } }, 'expected a list of codes'],
  ['an error type that is no text', { retry: { nonRetryableErrorTypes: [23505] } }, 'expected a list of codes'],
])('%s is refused where it is declared', (_what, options, message) => {
  expect(() => effect(options)).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: expect.stringMatching(/^effect 'ship' of source 'shop'\./),
    }),
  );
  expect(() => effect(options)).toThrow(message);
});

test('a timeout of an hour is taken', () => {
  expect(effect({ timeout: '1 hour' }).policy.timeoutMs).toBe(3_600_000);
});
