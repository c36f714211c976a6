import { expect, test } from 'vitest';
import { checkHeaders, headersLimit, headersLimitBytes } from '../../src/publisher/header-rules.js';

const refusal = (headers: unknown): string => {
  try {
    checkHeaders(headers);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    expect(code).toBe('endpoint_invalid');
    return message;
  }
  throw new Error('it was taken');
};

test('ordinary headers are taken, with names in lower case and in order', () => {
  expect(checkHeaders({ 'X-Shop': 'one two\tthree', Authorization: 'Bearer abc', "x!#$%&'*+.^_`|~": '1' })).toEqual({
    authorization: 'Bearer abc',
    "x!#$%&'*+.^_`|~": '1',
    'x-shop': 'one two\tthree',
  });
  expect(Object.keys(checkHeaders({ 'x-b': '1', 'x-a': '2' }))).toEqual(['x-a', 'x-b']);
  expect(checkHeaders({})).toEqual({});
});

test.each(['', ' ', 'x y', 'x:', 'x\r\nhost', 'x\0', 'ü', 'x(', 'x/', '"x"'])('%j is no name', (name) => {
  expect(refusal({ [name]: 'value' })).toContain('is no name of a header');
});

test.each([
  ['a line break that begins a header', 'a\r\nhost: internal'],
  ['a bare CR', 'a\rb'],
  ['a bare LF', 'a\nb'],
  ['NUL', 'a\0b'],
  ['a control character', 'a\x1bb'],
  ['DEL', 'a\x7f'],
  ['what is not ASCII', 'grüße'],
  ['a lone surrogate', '\ud800'],
  ['nothing', ''],
  ['blanks alone', '  '],
  ['a blank at its end', 'a '],
  ['a blank at its beginning', ' a'],
  ['no text', 7],
  ['a list', ['a']],
  ['null', null],
])('a value with %s is refused, and not told', (_what, value) => {
  const message = refusal({ 'x-shop': value });
  expect(message).toContain("the value of 'x-shop'");
  expect(message).not.toContain('internal');
});

test.each([
  'Host',
  'Content-Type',
  'content-length',
  'content-encoding',
  'Transfer-Encoding',
  'Connection',
  'Keep-Alive',
  'TE',
  'Trailer',
  'Upgrade',
  'Expect',
  'HTTP2-Settings',
  'Proxy-Authorization',
  'Proxy-Connection',
  'Webhook-Id',
  'webhook-signature',
  'Onefold-Anything',
  'User-Agent',
  'Accept-Encoding',
  'Date',
  'Cookie',
])('%s cannot be set, and the message says why', (name) => {
  expect(refusal({ [name]: 'value' })).toMatch(new RegExp(`'${name.toLowerCase()}' cannot be set: .{10}`));
});

test('one name in two spellings is refused', () => {
  expect(refusal({ 'X-Shop': '1', 'x-shop': '2' })).toContain('twice');
});

test.each([undefined, null, 'x: y', ['x'], 7])('%j is no set of headers', (headers) => {
  expect(refusal(headers)).toContain('expected an object');
});

test('the limits hold from both sides', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'v']));
  expect(Object.keys(checkHeaders(many(headersLimit)))).toHaveLength(headersLimit);
  expect(refusal(many(headersLimit + 1))).toContain('at most 20, got 21');
  const big = (bytes: number) => ({ 'x-big': 'v'.repeat(bytes - 'x-big'.length) });
  expect(checkHeaders(big(headersLimitBytes))['x-big']).toHaveLength(headersLimitBytes - 5);
  expect(refusal(big(headersLimitBytes + 1))).toContain('at most 4096 bytes together, got 4097');
});

test('a name that JavaScript knows is a name like any other', () => {
  const headers = checkHeaders(JSON.parse('{"__proto__":"1","constructor":"2"}'));
  expect(Object.entries(headers)).toEqual([
    ['__proto__', '1'],
    ['constructor', '2'],
  ]);
});
