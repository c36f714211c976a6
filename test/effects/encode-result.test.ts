import fc from 'fast-check';
import { parse } from 'lossless-json';
import { expect, test } from 'vitest';
import { encodeResult, resultLimitBytes } from '../../src/effects/encode-result.js';

test('every JSON value is read back as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      // JSON has no sign of zero that JSON.stringify writes.
      expect(JSON.parse(encodeResult(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 1000 },
  );
});

test('big integers, NUL and lone surrogates survive', () => {
  const json = encodeResult({ big: 9007199254740993n, nul: 'a\0b', lone: '\ud800', __proto__: null });
  expect(json).toBe('{"big":9007199254740993,"nul":"a\\u0000b","lone":"\\ud800"}');
  expect(encodeResult(parse('{"amount":0.10000000000000000001,"id":12345678901234567890}'))).toBe(
    '{"amount":0.10000000000000000001,"id":12345678901234567890}',
  );
});

test.each([
  [undefined, 'null'],
  [{ a: undefined, b: 1 }, '{"b":1}'],
  [[], '[]'],
  [Object.create(null), '{}'],
  [JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
])('%j is stored as %s', (value, json) => {
  expect(encodeResult(value)).toBe(json);
});

const circular: { self?: unknown } = {};
circular.self = circular;
let deep: unknown = 1;
for (let level = 0; level < 300; level++) deep = [deep];
test.each<[string, unknown]>([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['a Date', new Date()],
  ['a Map', new Map()],
  ['a Set', { set: new Set() }],
  ['a Buffer', Buffer.from('x')],
  ['an instance of a class', new (class Order {})()],
  ['a boxed string', new String('x')],
  ['a function', () => {}],
  ['a toJSON of its own', { toJSON: () => 1 }],
  ['a symbol', Symbol('x')],
  ['undefined in an array', [1, undefined]],
  ['a hole in an array', Object.assign([], { length: 2 })],
  ['something within itself', circular],
  ['something 300 levels deep', deep],
  ['a pretended exact number', { isLosslessNumber: true, value: '}{' }],
])('%s is refused', (_what, value) => {
  expect(() => encodeResult(value)).toThrow(expect.objectContaining({ code: 'result_not_json' }));
});

test('the refusal names the place', () => {
  expect(() => encodeResult({ lines: [{ price: Number.NaN }] })).toThrow('result.lines[0].price is NaN');
});

test('1 MiB of JSON is stored and one byte more is refused with its size', () => {
  expect(Buffer.byteLength(encodeResult('x'.repeat(resultLimitBytes - 2)))).toBe(resultLimitBytes);
  expect(() => encodeResult('x'.repeat(resultLimitBytes - 1))).toThrow(
    expect.objectContaining({
      code: 'result_too_large',
      message: expect.stringContaining(String(resultLimitBytes + 1)),
    }),
  );
  expect(() => encodeResult('€'.repeat(resultLimitBytes / 3))).toThrow(
    expect.objectContaining({ code: 'result_too_large' }),
  );
});
