import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonDepthLimit, type ParsedJson, parseJson } from '../../src/sources/parse-json.js';
import { stringAt, textAt } from '../../src/sources/read-field.js';

const nested = (levels: number, open = '[', close = ']') => Buffer.from(open.repeat(levels) + close.repeat(levels));
const parsed = (text: string) => parseJson(Buffer.from(text)) as ParsedJson;

describe('parseJson', () => {
  it('reads what JSON.parse reads, and keeps the text', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(Buffer.from(text))).toMatchObject({ ok: true, text });
      }),
    );
  });

  it('takes 256 levels and refuses 257', () => {
    expect(parseJson(nested(jsonDepthLimit))).toMatchObject({ ok: true });
    expect(parseJson(nested(jsonDepthLimit + 1))).toMatchObject({ ok: false, code: 'body_too_deep' });
  });

  it('refuses a million levels without running out of stack', () => {
    expect(parseJson(nested(1_000_000, '{"a":[', ']}'))).toMatchObject({ ok: false, code: 'body_too_deep' });
  });

  it('counts no brackets within strings, escaped quotes included', () => {
    const text = JSON.stringify({ note: `"\\${'['.repeat(1000)}`, 'key"[': '\\' });
    expect(parseJson(Buffer.from(text))).toMatchObject({ ok: true });
  });

  it('counts levels that are open at once, not all brackets', () => {
    expect(parsed(`[${Array(1000).fill('[]').join(',')}]`)).toMatchObject({ ok: true });
  });

  it.each([
    ['nothing', Buffer.alloc(0), 'the body is empty'],
    ['an unfinished object', Buffer.from('{"secret":'), 'the body is not JSON'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0x22]), 'the body is not UTF-8'],
    ['an overlong encoding', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'the body is not UTF-8'],
    ['a byte order mark', Buffer.from('\uFEFF{}'), 'the body is not JSON'],
    ['two values', Buffer.from('{}{}'), 'the body is not JSON, from position 2'],
    ['NaN', Buffer.from('NaN'), 'the body is not JSON'],
  ])('refuses %s', (_what, bytes, message) => {
    const refusal = parseJson(bytes);
    expect(refusal).toMatchObject({ ok: false, code: 'body_malformed', reason: 'malformed_body' });
    expect((refusal as { message: string }).message).toContain(message);
  });

  it('quotes nothing of the body', () => {
    expect(JSON.stringify(parsed('{"card":"4242" x'))).not.toContain('4242');
  });

  it.each([
    ['{"__proto__":{"admin":true},"a":1}', { a: 1 }],
    ['{"a":[{"__proto__":1,"b":2}]}', { a: [{ b: 2 }] }],
    ['{"__\\u0070roto__":{"admin":true},"a":1}', { a: 1 }],
    ['{"constructor":{"prototype":{"admin":true}},"a":1}', { a: 1 }],
    ['{"constructor":{"name":"Ferrari"},"prototype":2}', { constructor: { name: 'Ferrari' }, prototype: 2 }],
  ])('drops from the value of %s only the keys that change prototypes', (text, value) => {
    const json = parsed(text);
    expect(JSON.stringify(json.value)).toBe(JSON.stringify(value));
    expect(json.text).toBe(text);
    expect(Object.getPrototypeOf(json.value)).toBe(Object.prototype);
  });
});

describe('textAt', () => {
  it.each([
    ['{"id":"evt_1"}', 'id', 'evt_1'],
    ['{"id":" evt_1 "}', 'id', ' evt_1 '],
    ['{"event":{"id":"a"}}', 'event.id', 'a'],
    ['{"items":[{"id":7}]}', 'items.0.id', '7'],
    ['{"id":9007199254740993}', 'id', '9007199254740993'],
    ['{"id":-12345678901234567890123}', 'id', '-12345678901234567890123'],
    ['{"id":1.50}', 'id', '1.50'],
    ['{"id":0}', 'id', '0'],
    ['{"id":1.0}', 'id', '1'],
    ['{"id":1e400}', 'id', '1e400'],
    ['{"id":"","x":9007199254740993}', 'id', undefined],
    ['{"id":" \\t"}', 'id', undefined],
    ['{"id":null}', 'id', undefined],
    ['{"id":true}', 'id', undefined],
    ['{"id":{"a":1}}', 'id', undefined],
    ['{"id":["a"]}', 'id', undefined],
    ['{"other":1}', 'id', undefined],
    ['[]', 'length', undefined],
    ['"text"', 'length', undefined],
    ['{}', 'constructor.name', undefined],
    ['{"__proto__":{"id":"x"}}', 'id', undefined],
    ['{"__proto__":{"id":5}}', '__proto__.id', undefined],
    ['null', 'id', undefined],
  ])('of %s at %s is %j', (text, path, expected) => {
    expect(textAt(parsed(text), path)).toBe(expected);
  });

  it('of a key that stands twice is the last, be it text or number', () => {
    expect(textAt(parsed('{"id":"a","id":"b"}'), 'id')).toBe('b');
    expect(textAt(parsed('{"id":9007199254740992,"id":9007199254740993}'), 'id')).toBe('9007199254740993');
  });

  it('never comes from a prototype, even one that somebody polluted', () => {
    Object.defineProperty(Object.prototype, 'id', { value: 'polluted', configurable: true });
    try {
      expect(textAt(parsed('{"type":"order.paid"}'), 'id')).toBeUndefined();
    } finally {
      Reflect.deleteProperty(Object.prototype, 'id');
    }
  });

  it('gives different integers different texts', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), (one, other) => {
        const texts = [one, other].map((id) => textAt(parsed(`{"id":${id}}`), 'id'));
        expect(texts).toEqual([String(one), String(other)]);
      }),
    );
  });
});

it('stringAt takes strings alone', () => {
  expect(stringAt(parsed('{"type":"order.paid"}'), 'type')).toBe('order.paid');
  expect(stringAt(parsed('{"type":5}'), 'type')).toBeUndefined();
});
