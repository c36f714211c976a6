import { expect, it } from 'vitest';
import { judge } from './read-case.js';
import { now, signedDelivery, sources } from './signed-deliveries.js';

const code = sources.github!;

it('a delivery is identified by its delivery id, with event and action as its type', () => {
  const delivery = signedDelivery(code, '{"action":"opened"}');
  expect(judge(code, delivery, now)).toMatchObject({ id: 'evt_1', type: 'order.paid', action: 'opened' });
});

it('the identity lies outside the signature, and so another body under it is refused by default', () => {
  expect(code.verify(signedDelivery(code, '{}', { 'x-github-delivery': 'chosen' }), { now })).toMatchObject({
    ok: true,
  });
  expect(code.preset.facts.identityUnsigned).toBe(true);
  expect(code.settings.refuseOtherBody).toBe(true);
});

it.each([
  ['x-github-delivery', 'identity_missing', 'missing_identity'],
  ['x-github-event', 'type_missing', 'missing_header'],
])('a blank %s is refused with %s', (header, refusal, reason) => {
  expect(judge(code, signedDelivery(code, '{}', { [header]: ' ' }), now)).toMatchObject({ code: refusal, reason });
});

it('an id longer than an identity may be is refused', () => {
  const long = signedDelivery(code, '{}', { 'x-github-delivery': 'a'.repeat(4097) });
  expect(code.identify(long)).toMatchObject({ ok: false, code: 'identity_invalid' });
});

it('a form is read by its media type alone, and needs the field payload', () => {
  const form = 'application/x-www-form-urlencoded; charset=utf-8';
  expect(code.identify(signedDelivery(code, 'payload=%7B%7D', { 'content-type': form }))).toMatchObject({ json: '{}' });
  expect(code.identify(signedDelivery(code, '{}', { 'content-type': form }))).toMatchObject({ code: 'body_malformed' });
  expect(code.identify(signedDelivery(code, 'payload=%7B%7D'))).toMatchObject({ code: 'body_malformed' });
});

it.each([
  ['application/json', true],
  ['application/vnd.example+json', true],
  ['text/json', true],
  ['text/plain', true],
  ['', true],
  ['application/x-www-form-urlencoded', true],
  ['multipart/form-data', false],
  ['application/xml', false],
  ['application/jsonp', false],
])('the media type %j is readable: %s', (mediaType, readable) => {
  expect(code.preset.readsMediaType(mediaType)).toBe(readable);
});

it('forms are read for GitHub alone', () => {
  for (const name of ['standardWebhooks', 'stripe', 'shopify', 'custom']) {
    expect(sources[name]!.preset.readsMediaType('application/x-www-form-urlencoded')).toBe(false);
  }
});
