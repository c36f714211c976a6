import { expect, test } from 'vitest';
import { custom } from '../../src/sources/custom.js';
import { github } from '../../src/sources/github.js';
import { shopify } from '../../src/sources/shopify.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';

const events = { 'order.paid': types<unknown>() };
const secrets = 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=';
const shop = (options: object) => standardWebhooks('shop', { secrets, events, ...options });
const unverified = custom('erp', { events, verify: 'unverified', identity: { field: 'id' }, type: { field: 'type' } });

test.each([
  ['exposeResult that is no boolean', { exposeResult: 'no' }, "source 'shop'.exposeResult: expected true or false"],
  ['refuseOtherBody that is no boolean', { refuseOtherBody: 0 }, "source 'shop'.refuseOtherBody: expected true or fal"],
  ['a tenant that is a number', { tenant: 7 }, "source 'shop'.tenant: a tenant is text, got number"],
  ['a blank tenant', { tenant: ' ' }, "source 'shop'.tenant: a tenant is not blank"],
  ['a tenant of 61 bytes', { tenant: 'x'.repeat(61) }, "source 'shop'.tenant: a tenant has at most 60 bytes"],
  ['settleWithin beyond 10 minutes', { settleWithin: '11 minutes' }, "source 'shop'.settleWithin: at most 10 minutes"],
  [
    'settleWithin beyond what the provider waits',
    { settleWithin: '16 seconds' },
    `source 'shop'.settleWithin: "16 seconds" is longer than the provider waits for an answer, 15000 ms`,
  ],
])('%s is refused where it is declared', (_what, options, message) => {
  expect(() => shop(options)).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
  );
});

test('bodies of refused requests are kept only where the source asks for it', () => {
  expect(shop({}).settings.keepRejectedBody).toBe(false);
  expect(shop({ rejected: { keepBody: true } }).settings.keepRejectedBody).toBe(true);
  for (const rejected of [{ keepBody: 'yes' }, { keepBodies: true }]) {
    expect(() => shop({ rejected: rejected as never })).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining("source 'shop'.rejected") }),
    );
  }
});

test('a tenant of 60 bytes is taken, and a wait as long as the provider', () => {
  expect(shop({ tenant: 'x'.repeat(60), settleWithin: '15 seconds' }).settings).toMatchObject({
    tenant: 'x'.repeat(60),
    settleWithinMs: 15_000,
  });
});

test('the wait for the outcome ends a second before the provider hangs up, and after 8 seconds at the latest', () => {
  expect(shopify('store', { secrets: 'fake', events }).settings.settleWithinMs).toBe(4_000);
  expect(shop({}).settings.settleWithinMs).toBe(8_000);
  expect(unverified.settings.settleWithinMs).toBe(8_000);
});

test('results are exposed by default to callers who are proven and no outside provider', () => {
  const verify = { hmac: 'sha256', header: 'X-Signature', encoding: 'hex', secrets: 'fake' } as const;
  const signed = custom('erp', { events, verify, identity: { field: 'id' }, type: { field: 'type' } });
  const exposing = [shop({}), signed, unverified, github('code', { secrets: 'fake', events })];
  expect(exposing.map(({ settings }) => settings.exposeResult)).toEqual([true, true, false, false]);
});
