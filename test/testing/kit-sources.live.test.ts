import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { perEvent } from '../../src/effects/declare-effect.js';
import { custom } from '../../src/sources/custom.js';
import { github } from '../../src/sources/github.js';
import { shopify } from '../../src/sources/shopify.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { stripe } from '../../src/sources/stripe.js';
import { types } from '../../src/sources/types.js';
import { startTestKit, type TestKit } from '../../src/testing/index.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

const secrets = 'a-secret-for-tests-only';
const shop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.paid': types<{ order: number }>(), 'order.seen': types<{ order: number }>() },
});
const pay = stripe('pay', { secrets, events: { 'charge.succeeded': types<object>() } });
const hub = github('hub', { secrets, events: { 'issues.opened': types<object>(), push: types<object>() } });
const market = shopify('market', { secrets, events: { 'orders/paid': types<object>() } });
const own = custom('own', {
  verify: { hmac: 'sha256', header: 'x-signature', encoding: 'hex', secrets },
  identity: { header: 'x-id' },
  type: { header: 'x-type' },
  tenant: ({ identified }) => (identified.body as { team: string }).team,
  events: { happened: types<object>() },
});
const options = { businessKey: perEvent, commit: async () => {} };
const effects = [
  shop.effect('of-shop', { ...options, on: 'order.paid' }),
  pay.effect('of-pay', { ...options, on: 'charge.succeeded' }),
  hub.effect('of-hub', { ...options, on: ['issues.opened', 'push'] }),
  market.effect('of-market', { ...options, on: 'orders/paid' }),
  own.effect('of-own', { ...options, on: 'happened' }),
];

let database: TestDatabase;
let kit: TestKit;
beforeAll(async () => {
  database = await createTestDatabase();
  kit = await startTestKit({
    sources: [shop, pay, hub, market, own],
    effects,
    url: database.url,
    timeSkippingServer: inject('timeSkippingServer'),
  });
});
afterAll(async () => {
  await kit?.stop();
  await database?.drop();
});

const charge = { id: 'evt_pay_1', object: 'event', type: 'charge.succeeded', created: 1_770_091_506, data: {} };
const events = {
  'Standard Webhooks': () => kit.event(shop, { type: 'order.paid', data: { order: 1 }, id: 'msg_1' }),
  Stripe: () => kit.event(pay, { type: 'charge.succeeded', data: charge }),
  'GitHub, with an action': () => kit.event(hub, { type: 'issues.opened', data: { action: 'opened' } }),
  'GitHub, without one': () => kit.event(hub, { type: 'push', data: { ref: 'main' } }),
  Shopify: () => kit.event(market, { type: 'orders/paid', data: { id: 5 }, id: 'b54557e4' }),
  'a custom source with tenants': () => kit.event(own, { type: 'happened', data: { team: 'a' } }),
};

test.each(Object.entries(events))(
  'an event of %s is delivered as its provider would, again and again',
  async (_of, make) => {
    const event = make();
    expect(await event.deliver()).toMatchObject({ status: 202, path: 'first_run' });
    expect(await event.outcome()).toMatchObject({ outcome: 'done' });
    expect(await event.deliver()).toMatchObject({ status: 200, path: 'duplicate_done' });
  },
);

test('what the source would not read in an event is refused before it is sent', () => {
  expect(() => kit.event(pay, { type: 'charge.succeeded', data: charge, id: 'evt_other' })).toThrow(
    /source 'pay' takes the event id from .*, which says "evt_pay_1", and the test says "evt_other"/,
  );
  expect(() => kit.event(pay, { type: 'charge.succeeded', data: { ...charge, type: 'charge.failed' } })).toThrow(
    /source 'pay' reads the type 'charge.failed' in this event, and the test says 'charge.succeeded'/,
  );
  expect(() => kit.event(pay, { type: 'charge.succeeded', data: {} })).toThrow(
    /source 'pay' .* reads none in this event/,
  );
});

test('an event that nobody recorded has no outcome', async () => {
  await expect(kit.event(shop, { type: 'order.paid', data: { order: 2 } }).outcome()).rejects.toThrow(
    /shop\/evt_.* was never recorded/,
  );
  const ignored = kit.event(shop, { type: 'order.seen', data: { order: 2 } });
  expect(await ignored.deliver()).toMatchObject({ status: 200, path: 'ignored' });
  await expect(ignored.outcome()).rejects.toThrow(/was never recorded/);
});
