import { expect, it } from 'vitest';
import type { DeliveryRequest, Identified } from '../../src/sources/source.js';
import { judge } from './read-case.js';
import { now, signedDelivery, sources } from './signed-deliveries.js';

const store = sources.shopify!;
const delivery = signedDelivery(store, '{"id":1}', {
  'x-shopify-shop-domain': 'a.myshopify.com',
  'x-shopify-webhook-id': 'w-1',
});
const identify = (headers: Record<string, string | undefined>) => {
  const merged = Object.entries({ ...delivery.headers, ...headers }).filter(([, value]) => value !== undefined);
  return judge(store, { ...delivery, headers: Object.fromEntries(merged) } as DeliveryRequest, now);
};

it('an event is identified by shop, topic and event id together', () => {
  expect(identify({})).toMatchObject({
    id: 'a.myshopify.com:order.paid:evt_1',
    eventId: 'evt_1',
    parts: ['a.myshopify.com', 'order.paid', 'evt_1'],
    deliveryId: 'w-1',
    scope: 'a.myshopify.com',
  });
});

it('two subscriptions of one topic are one event; another topic or shop is another', () => {
  const { id } = identify({}) as Identified;
  expect(identify({ 'x-shopify-webhook-id': 'w-2' })).toMatchObject({ id });
  expect(identify({ 'x-shopify-topic': 'orders/paid' })).not.toMatchObject({ id });
  expect(identify({ 'x-shopify-shop-domain': 'b.myshopify.com' })).not.toMatchObject({ id });
});

it('without an event id the webhook id identifies, and cannot spell the identity of another event', () => {
  expect(identify({ 'x-shopify-event-id': undefined })).toMatchObject({ id: 'w-1', eventId: 'w-1', parts: ['w-1'] });
  const { id } = identify({}) as Identified;
  expect(identify({ 'x-shopify-event-id': undefined, 'x-shopify-webhook-id': id })).not.toMatchObject({ id });
});

it.each([
  [{ 'x-shopify-event-id': undefined, 'x-shopify-webhook-id': ' ' }, 'identity_missing'],
  [{ 'x-shopify-shop-domain': undefined }, 'identity_missing'],
  [{ 'x-shopify-topic': '' }, 'type_missing'],
  [{ 'x-shopify-hmac-sha256': undefined }, 'signature_missing'],
])('with the headers %j it is refused with %s', (headers, code) => {
  expect(identify(headers)).toMatchObject({ ok: false, code });
});

it('headers of the other family beside a signed one are not read', () => {
  expect(identify({ 'shopify-webhook-id': 'chosen', 'shopify-hmac-sha256': 'chosen' })).toMatchObject({
    eventId: 'evt_1',
  });
});
