import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CustomOptions, custom } from '../../src/sources/custom.js';
import type { HmacVerification } from '../../src/sources/custom-verification.js';
import type { Identified } from '../../src/sources/source.js';
import { types } from '../../src/sources/types.js';
import { judge } from './read-case.js';
import { now, signedDelivery } from './signed-deliveries.js';

const events = { 'order.paid': types<unknown>() };
const verify: HmacVerification = { hmac: 'sha256', header: 'X-Signature', encoding: 'hex', secrets: 'fake-secret' };

function erp(options: Partial<CustomOptions<typeof events>> = {}) {
  return custom('erp', { events, verify, identity: { field: 'id' }, type: { field: 'type' }, ...options });
}

describe('verification', () => {
  const body = '{"id":"evt_1","type":"order.paid"}';
  const mac = (algorithm: string, content: string, encoding: 'hex' | 'base64') =>
    createHmac(algorithm, 'fake-secret').update(content).digest(encoding);

  it.each([
    ['sha256', 'hex', '', mac('sha256', body, 'hex')],
    ['sha1', 'base64', '', mac('sha1', body, 'base64')],
    ['sha512', 'base64', 'sig:', `sig:${mac('sha512', body, 'base64')}`],
    ['sha256', 'hex', '', mac('sha256', body, 'hex').toUpperCase()],
  ] as const)('%s in %s after %j is verified', (hmac, encoding, prefix, signature) => {
    const source = erp({ verify: { ...verify, hmac, encoding, prefix } });
    const delivery = signedDelivery(source, body, { 'x-signature': signature });
    expect(source.verify(delivery, { now })).toEqual({ ok: true, secret: 0 });
  });

  it('hex in small and capital letters at once is refused', () => {
    const source = erp();
    const hex = mac('sha256', body, 'hex');
    const mixed = hex.slice(0, 32) + hex.slice(32).toUpperCase();
    const delivery = signedDelivery(source, body, { 'x-signature': mixed });
    expect(source.verify(delivery, { now })).toMatchObject({ code: 'signature_mismatch' });
  });

  it('base64 in another case is another signature', () => {
    const source = erp({ verify: { ...verify, encoding: 'base64' } });
    const delivery = signedDelivery(source, body, { 'x-signature': mac('sha256', body, 'base64').toUpperCase() });
    expect(source.verify(delivery, { now })).toMatchObject({ code: 'signature_mismatch' });
  });

  it.each([
    [{ 'x-signature': '' }, 'signature_missing'],
    [{ 'x-signature': 'md5=abc' }, 'signature_malformed'],
    [{ 'x-time': ' ' }, 'signature_missing'],
    [{ 'x-time': '1770091506abc' }, 'signature_malformed'],
    [{ 'x-time': '1770091205' }, 'timestamp_too_old'],
    [{ 'x-time': '1770091807' }, 'timestamp_too_new'],
    [{ 'x-time': '1770091507' }, 'signature_mismatch'],
    [{ 'x-event-id': 'evt_2' }, 'signature_mismatch'],
    [{ 'x-event-id': '' }, 'signature_missing'],
  ])('a delivery with %j instead is refused with %s', (headers, code) => {
    const source = erp({
      verify: { ...verify, prefix: 'v=', timestampHeader: 'X-Time', signedContent: '{id}|{timestamp}|{body}|end' },
      identity: { header: 'X-Event-Id' },
    });
    expect(judge(source, signedDelivery(source), now)).toMatchObject({ ok: true, id: 'evt_1' });
    expect(judge(source, signedDelivery(source, undefined, headers), now)).toMatchObject({ ok: false, code });
  });

  it('a timestamp header is signed before the body by default', () => {
    const source = erp({ verify: { ...verify, timestampHeader: 'x-time' } });
    const signature = mac('sha256', `1770091506.${body}`, 'hex');
    const delivery = signedDelivery(source, body, { 'x-signature': signature });
    expect(source.verify(delivery, { now })).toMatchObject({ ok: true });
  });

  it('an unverified source takes everything that is labelled as JSON, and nothing that a browser posts unasked', () => {
    const source = erp({ verify: 'unverified' });
    expect(judge(source, signedDelivery(source), now)).toMatchObject({ ok: true, id: 'evt_1' });
    const readable = ['application/json', 'text/plain', '', 'application/x-www-form-urlencoded'].filter((mediaType) =>
      source.preset.readsMediaType(mediaType),
    );
    expect(readable).toEqual(['application/json']);
  });
});

describe('identity', () => {
  const identify = (identity: CustomOptions<typeof events>['identity'], body: string, headers = {}) => {
    const source = erp({ verify: 'unverified', identity });
    return source.identify(signedDelivery(source, body, headers));
  };
  const hashOf = ['resource.id', 'type', 'timestamp'];

  it('a header comes before a field, and a field before the hash', () => {
    const identity = { header: 'X-Key', field: 'id', hashOf };
    const body = '{"id":7,"type":"t","resource":{"id":"r"},"timestamp":1}';
    expect(identify(identity, body, { 'x-key': 'k' })).toMatchObject({ id: 'k', eventId: 'k' });
    expect(identify(identity, body, { 'x-key': ' ' })).toMatchObject({ id: '7', eventId: '7' });
    expect(identify(identity, body.replace('"id":7,', ''), { 'x-key': '' })).toMatchObject({
      id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      eventId: null,
      parts: ['r', 't', '1'],
    });
  });

  it('the hash is equal on a retry, whatever else in the body or the headers has changed', () => {
    const body = (attempt: number) =>
      `{"attempt":${attempt},"type":"t","resource":{"id":"r"},"timestamp":9007199254740993}`;
    const first = identify({ hashOf }, body(1), { 'x-request-id': '1' }) as Identified;
    expect(identify({ hashOf }, body(2), { 'x-request-id': '2' })).toMatchObject({ id: first.id });
    expect(identify({ hashOf }, body(1).replace('993', '992'))).not.toMatchObject({ id: first.id });
  });

  it('different values never have one hash', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ':', '%', '3', 'A'), minLength: 1, maxLength: 4 });
    const idOf = (a: string, b: string) =>
      (identify({ hashOf: ['a', 'b'] }, JSON.stringify({ a, b, type: 't' })) as Identified).id;
    fc.assert(
      fc.property(text, text, text, text, (a, b, c, d) => {
        expect(idOf(a, b) === idOf(c, d)).toBe(a === c && b === d);
      }),
    );
    expect(idOf('a:', 'b')).not.toBe(idOf('a', ':b'));
  });

  it.each([
    '{"type":"t","timestamp":1}',
    '{"type":"t","timestamp":1,"resource":{"id":""}}',
    '{"type":"t","timestamp":1,"resource":{"id":null}}',
    '{"type":"t","timestamp":1,"resource":{"id":{"a":1}}}',
    '{"type":"t","timestamp":false,"resource":{"id":"r"}}',
  ])('%s lacks a value to hash and is refused', (body) => {
    expect(identify({ hashOf }, body)).toMatchObject({ ok: false, code: 'identity_missing' });
  });

  it('the refusal says what was looked for', () => {
    expect(identify({ header: 'X-Key', field: 'event.id', hashOf }, '{"type":"t"}', { 'x-key': '' })).toMatchObject({
      message: 'no header x-key; no string or number in the field event.id; nothing to hash in resource.id, timestamp',
    });
  });

  it('the whole body is hashed only where it is asked for by that name', () => {
    const one = identify('whole-body-hash', '{"type":"t"}') as Identified;
    expect(one).toMatchObject({ id: expect.stringMatching(/^sha256:/), eventId: null });
    expect(identify('whole-body-hash', '{"type":"t"} ')).not.toMatchObject({ id: one.id });
    expect(identify({ field: 'id' }, '{"type":"t"}')).toMatchObject({ ok: false, code: 'identity_missing' });
  });

  it.each([
    [{ verify, identity: { header: 'x-id' } }, true],
    [{ verify: { ...verify, signedContent: '{id}.{body}' }, identity: { header: 'x-id' } }, false],
    [{ verify, identity: { field: 'id' } }, false],
    [{ verify, identity: 'whole-body-hash' }, false],
    [{ verify: 'unverified', identity: { field: 'id' } }, true],
  ] as const)('of %j the identity lies outside the signature: %s', (options, unsigned) => {
    expect(erp(options).preset.facts.identityUnsigned).toBe(unsigned);
  });
});

describe('type and time', () => {
  const event = '{"id":"1","kind":{"name":"order.paid","code":7},"at":1770091506789}';
  const identify = (options: Partial<CustomOptions<typeof events>>, headers = {}) => {
    const source = erp({ verify: 'unverified', ...options });
    return source.identify(signedDelivery(source, event, headers));
  };

  it.each([
    [{ field: 'kind.name' }, 'order.paid'],
    [{ field: 'kind.code' }, '7'],
    [{ header: 'X-Type' }, 'from-header'],
    [{ fixed: 'everything' }, 'everything'],
  ])('the type at %j is %s', (type, expected) => {
    expect(identify({ type }, { 'x-type': 'from-header' })).toMatchObject({ ok: true, type: expected });
  });

  it('an event whose type is missing is refused, not ignored', () => {
    expect(identify({ type: { field: 'nowhere' } })).toMatchObject({ code: 'type_missing', reason: 'malformed_body' });
    expect(identify({ type: { header: 'x-nowhere' } }, { 'x-nowhere': '' })).toMatchObject({
      code: 'type_missing',
      reason: 'missing_header',
    });
  });

  it('the time comes from a field in its unit, or from a header', () => {
    const type = { fixed: 'order.paid' };
    expect(identify({ type, occurredAt: { field: 'at', unit: 'milliseconds' } })).toMatchObject({
      occurredAt: '2026-02-03T04:05:06.789Z',
    });
    expect(identify({ type, occurredAt: { header: 'X-At' } }, { 'x-at': '1770091506' })).toMatchObject({
      occurredAt: '2026-02-03T04:05:06.000Z',
    });
  });
});

describe('configuration', () => {
  const configured = (option: object) => () => erp(option as Partial<CustomOptions<typeof events>>);

  it.each([
    [{ verify: undefined }, "source 'erp'.verify"],
    [{ verify: 'none' }, "source 'erp'.verify"],
    [{ verify: { ...verify, hmac: 'md5' } }, "source 'erp'.verify.hmac"],
    [{ verify: { ...verify, encoding: 'base32' } }, "source 'erp'.verify.encoding"],
    [{ verify: { ...verify, header: 'X Signature' } }, "source 'erp'.verify.header"],
    [{ verify: { ...verify, heder: 'X' } }, "did you mean 'header'"],
    [{ verify: { ...verify, tolerance: 'soon' } }, "source 'erp'.verify.tolerance"],
    [{ verify: { ...verify, timestampHeader: 'X-Time', signedContent: '{body}' } }, '{timestamp} and timestampHeader'],
    [{ verify: { ...verify, signedContent: '{timestamp}.{body}' } }, '{timestamp} and timestampHeader'],
    [{ verify: { ...verify, signedContent: 'fixed' } }, 'expected {body} once'],
    [{ verify: { ...verify, signedContent: '{body}{body}' } }, 'expected {body} once'],
    [{ verify: { ...verify, signedContent: '{url}{body}' } }, 'not {url}'],
    [{ verify: { ...verify, signedContent: '{id}{body}' } }, '{id} needs a header'],
    [{ identity: undefined }, "source 'erp'.identity"],
    [{ identity: {} }, "source 'erp'.identity"],
    [{ identity: 'body-hash' }, "source 'erp'.identity"],
    [{ identity: { hashOf: [] } }, "source 'erp'.identity.hashOf"],
    [{ identity: { hashOf: ['a', 'b..c'] } }, "source 'erp'.identity.hashOf[1]"],
    [{ identity: { feild: 'id' } }, "did you mean 'field'"],
    [{ type: undefined }, "source 'erp'.type"],
    [{ type: { field: 'type', fixed: 'x' } }, "source 'erp'.type"],
    [{ type: { fixed: ' ' } }, "source 'erp'.type.fixed"],
    [{ occurredAt: { field: 'at', unit: 'hours' } }, "source 'erp'.occurredAt.unit"],
  ])('%j is refused, naming the place', (option, message) => {
    expect(configured(option)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    expect(configured(option)).toThrow(message);
  });
});
