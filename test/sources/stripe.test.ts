import { expect, it } from 'vitest';
import { judge } from './read-case.js';
import { now, signedDelivery, sources } from './signed-deliveries.js';

const payments = sources.stripe!;
const delivery = signedDelivery(payments);
const right = delivery.headers['stripe-signature'] as string;
const withSignature = (...lines: string[]) => ({
  ...delivery,
  headers: { ...delivery.headers, 'stripe-signature': lines },
});

it.each([[`${right},v0=00`], [`v0=00,${right}`], [`${right},v1=`], [right.replace(',', ',v1=00,')], [`${right},x=`]])(
  'the header %s is accepted',
  (header) => {
    expect(payments.verify(withSignature(header), { now })).toMatchObject({ ok: true });
  },
);

it('a header in two lines is one', () => {
  expect(payments.verify(withSignature(...right.split(',')), { now })).toMatchObject({ ok: true });
});

it.each([
  [right.replace('v1=', 'v1 ='), 'signature_scheme_unsupported'],
  [right.replace('v1=', 'v0='), 'signature_scheme_unsupported'],
  [right.toUpperCase(), 'signature_malformed'],
  [`${right},t=1770091506`, 'signature_malformed'],
  [`${right},`, 'signature_malformed'],
  [`${right},=1`, 'signature_malformed'],
  [right.slice(0, -1), 'signature_mismatch'],
  [`${right}0`, 'signature_mismatch'],
  [`t=1770091506,${Array(33).fill('v1=00').join(',')}`, 'signature_malformed'],
  [' ', 'signature_missing'],
])('the header %s is refused with %s', (header, code) => {
  expect(payments.verify(withSignature(header), { now })).toMatchObject({ ok: false, code });
});

it('the whole event is what the schema describes, and the account its scope', () => {
  const body = '{"id":"evt_1","type":"order.paid","created":1770091500,"account":"acct_1","data":{"object":{}}}';
  const event = judge(payments, signedDelivery(payments, body), now);
  expect(event).toMatchObject({ id: 'evt_1', scope: 'acct_1', occurredAt: '2026-02-03T04:05:00.000Z' });
  expect(payments.preset.dataOf(JSON.parse(body))).toEqual(JSON.parse(body));
});

it('an event without a type is refused', () => {
  expect(judge(payments, signedDelivery(payments, '{"id":"evt_1"}'), now)).toMatchObject({ code: 'type_missing' });
});

it('an id that no text column could hold is refused', () => {
  for (const id of ['evt\\u0000', 'evt\\ud800']) {
    const refused = judge(payments, signedDelivery(payments, `{"id":"${id}","type":"order.paid"}`), now);
    expect(refused).toMatchObject({ ok: false, code: 'identity_invalid' });
  }
});
