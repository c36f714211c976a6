import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { judge } from './read-case.js';
import { now, signedDelivery, sources, whsec } from './signed-deliveries.js';

const events = { 'order.paid': types<{ order: string }>() };
const shop = sources.standardWebhooks!;
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000);

describe('the tolerance', () => {
  it.each([
    [0, 'accepted'],
    [299, 'accepted'],
    [300, 'accepted'],
    [300.999, 'accepted'],
    [301, 'timestamp_too_old'],
    [-299, 'accepted'],
    [-300, 'accepted'],
    [-301, 'timestamp_too_new'],
  ])('a delivery judged %d s after its timestamp is %s', (seconds, expected) => {
    const verdict = shop.verify(signedDelivery(shop), { now: later(seconds) });
    expect(verdict.ok ? 'accepted' : verdict.code).toBe(expected);
  });

  it('is an option, in words or ms', () => {
    const strict = standardWebhooks('shop', { events, secrets: whsec, tolerance: '5 seconds' });
    expect(strict.verify(signedDelivery(strict), { now: later(5) })).toMatchObject({ ok: true });
    expect(strict.verify(signedDelivery(strict), { now: later(6) })).toMatchObject({ code: 'timestamp_too_old' });
  });
});

describe('the header families', () => {
  const svix = signedDelivery(sources.svix!);
  const either = standardWebhooks('shop', { events, secrets: whsec });
  const webhookOnly = standardWebhooks('shop', { events, secrets: whsec, headers: 'webhook' });

  it('either family is read by default, and only the configured one otherwise', () => {
    expect(judge(either, svix, now)).toMatchObject({ ok: true, id: 'evt_1' });
    expect(judge(webhookOnly, svix, now)).toMatchObject({ ok: false, code: 'signature_missing' });
  });

  it('headers of the other family beside a complete one change nothing', () => {
    const delivery = signedDelivery(either, undefined, { 'svix-id': 'evt_2' });
    expect(judge(either, delivery, now)).toMatchObject({ ok: true, id: 'evt_1' });
  });

  it('an unsigned family cannot lend its id to a signed one', () => {
    const forged = { 'webhook-id': 'evt_2', 'webhook-timestamp': '1770091506', 'webhook-signature': 'v1,AAAA' };
    const delivery = { ...svix, headers: { ...svix.headers, ...forged } };
    expect(judge(either, delivery, now)).toMatchObject({ ok: false, code: 'signature_mismatch' });
  });

  it('a signature in several lines is one list; an id in differing lines is none', () => {
    const delivery = signedDelivery(shop);
    const signature = delivery.headers['webhook-signature'] as string;
    const lines = { ...delivery.headers, 'webhook-signature': ['v1,AAAA', signature] };
    expect(shop.verify({ ...delivery, headers: lines }, { now })).toMatchObject({ ok: true });
    const ids = { ...delivery.headers, 'webhook-id': ['evt_1', 'evt_2'] };
    expect(shop.verify({ ...delivery, headers: ids }, { now })).toMatchObject({ code: 'signature_missing' });
  });
});

it('more than 32 signatures are refused without comparing any', () => {
  const delivery = signedDelivery(shop);
  const signature = delivery.headers['webhook-signature'] as string;
  const repeated = (count: number) => ({
    ...delivery,
    headers: { ...delivery.headers, 'webhook-signature': Array(count).fill(signature).join(' ') },
  });
  expect(shop.verify(repeated(32), { now })).toMatchObject({ ok: true });
  expect(shop.verify(repeated(33), { now })).toMatchObject({ ok: false, code: 'signature_malformed' });
});

it('an id beyond ASCII, which HTTP hands over byte by byte, is signed as the bytes that came', () => {
  const sent = Buffer.from('evt_é', 'utf8');
  const rawBody = Buffer.from('{"type":"order.paid"}');
  const content = Buffer.concat([sent, Buffer.from('.1770091506.'), rawBody]);
  const mac = createHmac('sha256', Buffer.from(whsec.slice('whsec_'.length), 'base64'))
    .update(content)
    .digest('base64');
  const id = sent.toString('latin1');
  const headers = { 'webhook-id': id, 'webhook-timestamp': '1770091506', 'webhook-signature': `v1,${mac}` };
  expect(judge(shop, { method: 'POST', url: '/', headers, rawBody }, now)).toMatchObject({ ok: true, id });
});

it.each([
  ['{"type":"order.paid","timestamp":"2026-02-03T04:05:00.1234Z"}', 'order.paid', '2026-02-03T04:05:00.123Z'],
  ['{"type":5}', '', undefined],
  ['[]', '', undefined],
])('%s has the type %j and the time %s', (body, type, occurredAt) => {
  const event = shop.identify(signedDelivery(shop, body));
  expect(event).toMatchObject({ ok: true, eventId: 'evt_1', parts: ['evt_1'], type, json: body });
  expect((event as { occurredAt?: string }).occurredAt).toBe(occurredAt);
});

it('a type that no index could hold is refused', () => {
  expect(shop.identify(signedDelivery(shop, '{"type":"a\\u0000"}'))).toMatchObject({ code: 'type_missing' });
  expect(shop.identify(signedDelivery(shop, JSON.stringify({ type: 'a'.repeat(513) })))).toMatchObject({
    code: 'type_missing',
  });
});

it('the schema describes the data by default, and the body where it is asked for', () => {
  const body = { type: 'order.paid', data: { order: 'ord_1' } };
  expect(shop.preset.dataOf(body)).toEqual({ order: 'ord_1' });
  expect(shop.preset.dataOf({ type: 'order.paid' })).toBeUndefined();
  const whole = standardWebhooks('shop', { events, secrets: whsec, schemaOf: 'body' });
  expect(whole.preset.dataOf(body)).toBe(body);
});

it.each([
  [{ headers: 'svx' }, "source 'shop'.headers"],
  [{ schemaOf: 'payload' }, "source 'shop'.schemaOf"],
  [{ tolerance: 0 }, "source 'shop'.tolerance"],
  [{ tolerence: 5 }, "did you mean 'tolerance'"],
])('the option %j is refused by name', (option, message) => {
  const options = { events, secrets: whsec, ...(option as object) };
  expect(() => standardWebhooks('shop', options)).toThrow(message);
});
