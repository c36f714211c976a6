import fc from 'fast-check';
import { expect, test } from 'vitest';
import { utf8Bytes } from '../../src/identity/encode-segment.js';
import { publicationKey } from '../../src/identity/publication-identity.js';
import { workflowIdLimitBytes } from '../../src/identity/readable-or-hashed.js';
import { sha256 } from '../../src/runtime/sha256.js';

const part = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((text) => text.trim() !== '');
const identity = fc.record({
  tenant: fc.constantFrom('', 'acme', 'a/b'),
  endpoint: part,
  publication: fc.oneof(
    part,
    fc.string({ minLength: 200, maxLength: 400 }).filter((text) => text.trim() !== ''),
  ),
});

test('different publications have different keys, within the limit of a workflow ID', () => {
  fc.assert(
    fc.property(identity, identity, (one, other) => {
      const keys = [one, other].map((given) => publicationKey(given, sha256));
      expect(keys[0] === keys[1]).toBe(JSON.stringify(one) === JSON.stringify(other));
    }),
    { seed: 4, numRuns: 500 },
  );
});

test('a readable key says what it is made of, and a long one is hashed behind its mark', () => {
  const order = { tenant: 'acme', endpoint: 'ep_1', publication: 'order:42:confirmed:v1' };
  expect(publicationKey(order, sha256)).toBe('publication/acme/ep_1/order:42:confirmed:v1');
  const long = publicationKey({ ...order, publication: 'x'.repeat(300) }, sha256);
  expect(long).toBe(`publication/acme/ep_1/~${sha256('x'.repeat(300))}`);
  expect(utf8Bytes(long)).toBeLessThanOrEqual(workflowIdLimitBytes);
});

test.each([
  ['a blank publication', { tenant: '', endpoint: 'ep_1', publication: ' ' }],
  ['a blank endpoint', { tenant: '', endpoint: '', publication: 'order:42' }],
  ['a blank tenant that is not none', { tenant: ' ', endpoint: 'ep_1', publication: 'order:42' }],
])('%s is refused', (_what, given) => {
  expect(() => publicationKey(given, sha256)).toThrow(expect.objectContaining({ code: 'identity_invalid' }));
});

test.each([
  ['blank', ' '],
  ['NUL', 'ep_\0'],
  ['no text', 7],
])('an endpoint that is %s is refused', (_what, endpoint) => {
  expect(() => publicationKey({ tenant: '', endpoint: endpoint as string, publication: 'p' }, sha256)).toThrow(
    expect.objectContaining({ code: 'identity_invalid' }),
  );
});
