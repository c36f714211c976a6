import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  candidatePatterns,
  checkAnyType,
  checkPattern,
  checkType,
  typeLimit,
} from '../../src/publisher/type-pattern.js';

const codeOf = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
};

const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/);
const type = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join('.'));
const pattern = fc.oneof(
  type,
  type.map((prefix) => `${prefix}.*`),
  fc.constant('*'),
);

/** What a pattern means, said in another way. */
function matches(one: string, name: string): boolean {
  if (one === '*') return !name.startsWith('endpoint.');
  return one.endsWith('.*') ? name.startsWith(one.slice(0, -1)) : name === one;
}

test('the candidates of a type are exactly the patterns that match it', () => {
  const near = fc.tuple(type, fc.nat(5)).map(
    ([name, depth]) =>
      `${name
        .split('.')
        .slice(0, depth + 1)
        .join('.')}.*`,
  );
  fc.assert(
    fc.property(type, fc.oneof(pattern, near), (name, one) => {
      expect(candidatePatterns(name).includes(one)).toBe(matches(one, name));
    }),
  );
  fc.assert(
    fc.property(type, fc.nat(6), (name, depth) => {
      const own = `${name.split('.').slice(0, depth).join('.')}.*`;
      if (depth > 0) expect(candidatePatterns(name).includes(own)).toBe(matches(own, name));
    }),
  );
});

test('the exact type comes first, the widest pattern last, and none twice', () => {
  expect(candidatePatterns('order.paid.late')).toEqual(['order.paid.late', 'order.paid.*', 'order.*', '*']);
  expect(candidatePatterns('ping')).toEqual(['ping', '*']);
  fc.assert(fc.property(type, (name) => new Set(candidatePatterns(name)).size === candidatePatterns(name).length));
});

test('a star leaves out what is told about endpoints, and a prefix is no prefix of a longer word', () => {
  expect(candidatePatterns('endpoint.failing')).toEqual(['endpoint.failing', 'endpoint.*']);
  expect(candidatePatterns('endpoint')).toContain('*');
  expect(candidatePatterns('orders.paid')).not.toContain('order.*');
  expect(candidatePatterns('order')).not.toContain('order.*');
});

test('every type and every pattern made of words is taken as it is', () => {
  fc.assert(fc.property(type, (name) => checkAnyType(name) === name));
  fc.assert(fc.property(pattern, (one) => checkPattern(one) === one));
});

test.each([
  '',
  ' ',
  '.',
  'order.',
  '.paid',
  'order..paid',
  'order paid',
  'order/paid',
  'Bestellung.bezählt',
  'order.*',
  '*',
  'order\0',
  'order.paid\n',
  'a'.repeat(typeLimit + 1),
  undefined,
  null,
  7,
  ['order'],
])('%j is no type', (name) => {
  expect(codeOf(() => checkAnyType(name))).toBe('publication_invalid');
  expect(codeOf(() => checkType(name))).toBe('publication_invalid');
});

test.each(['', '**', '*.paid', 'order.*.late', 'order*', 'order.**', '.*', 'order.* ', 7, undefined, 'a'.repeat(129)])(
  '%j is no pattern',
  (one) => {
    expect(codeOf(() => checkPattern(one))).toBe('endpoint_invalid');
  },
);

test('the longest type is taken, and a type of Onefold only where Onefold publishes it', () => {
  expect(checkType('a'.repeat(typeLimit))).toHaveLength(typeLimit);
  expect(checkType('endpoint')).toBe('endpoint');
  expect(checkType('endpoints.opened')).toBe('endpoints.opened');
  expect(codeOf(() => checkType('endpoint.failing'))).toBe('publication_invalid');
  expect(checkAnyType('endpoint.failing')).toBe('endpoint.failing');
});
