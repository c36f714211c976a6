import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OnefoldError } from '../../src/errors.js';
import { tenantSegmentLimitBytes } from '../../src/identity/check-tenant.js';
import { encodeSegment, utf8Bytes } from '../../src/identity/encode-segment.js';
import { eventIdLimitBytes, eventKey, parseEventKey } from '../../src/identity/event-identity.js';
import { workflowIdLimitBytes } from '../../src/identity/readable-or-hashed.js';
import { sha256 } from '../../src/runtime/sha256.js';

const keyOf = (identity: { tenant: string; source: string; id: string }) => eventKey(identity, sha256);

/** Text that collides if anything does: separators, marks and escapes, beside every other character. */
const nasty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: fc.constantFrom('/', '%', '~', '2', 'F', 'a', ' ', '\u00e9', 'e\u0301', '🧾'), maxLength: 60 }),
);
const id = nasty.filter((text) => text.trim() !== '' && !text.includes('\0') && utf8Bytes(text) <= eventIdLimitBytes);
const tenant = fc
  .oneof(fc.constant(''), nasty)
  .filter((text) => text === '' || text.trim() !== '')
  .filter((text) => !text.includes('\0') && encodeSegment(text).length <= tenantSegmentLimitBytes);
const source = fc.stringMatching(/^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/);
const identity = fc.record({ tenant, source, id });

test('different identities have different keys, equal ones the same', () => {
  fc.assert(
    fc.property(identity, identity, (one, other) => {
      const equal = one.tenant === other.tenant && one.source === other.source && one.id === other.id;
      expect(keyOf(one) === keyOf(other)).toBe(equal);
    }),
    { numRuns: 2000 },
  );
});

test('moving characters across the borders of the parts never gives the same key', () => {
  fc.assert(
    fc.property(tenant, source, id, fc.nat(), (someTenant, someSource, someId, cut) => {
      const joined = `${someTenant}/${someSource}/${someId}`;
      const parts = joined.split('/');
      const at = 1 + (cut % (parts.length - 1));
      const other = { tenant: parts.slice(0, at - 1).join('/'), source: someSource, id: parts.slice(at).join('/') };
      fc.pre(other.tenant === '' || other.tenant.trim() !== '');
      fc.pre(other.id.trim() !== '' && encodeSegment(other.tenant).length <= tenantSegmentLimitBytes);
      fc.pre(other.tenant !== someTenant || other.id !== someId);
      expect(keyOf(other)).not.toBe(keyOf({ tenant: someTenant, source: someSource, id: someId }));
    }),
    { numRuns: 2000 },
  );
});

test('a key has at most 200 bytes of plain characters and is read back to its parts', () => {
  fc.assert(
    fc.property(identity, (one) => {
      const key = keyOf(one);
      expect(utf8Bytes(key)).toBeLessThanOrEqual(workflowIdLimitBytes);
      expect(key).toMatch(/^event\/[A-Za-z0-9._:@%-]*\/[A-Za-z0-9._:@%-]+\/[A-Za-z0-9._:@%~-]+$/);
      const parsed = parseEventKey(key);
      expect(parsed).toMatchObject({ tenant: one.tenant, source: one.source });
      if (parsed?.id !== undefined) expect(parsed.id).toBe(one.id);
      else expect(key.endsWith(`~${sha256(one.id)}`)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test('whatever is read as a key is spelt exactly as the key is made', () => {
  const almost = fc.oneof(
    fc
      .string({ unit: fc.constantFrom('e', '/', '%', '2', 'f', 'F', '6', '1', '~', 'a', '🧾') })
      .map((rest) => `event/${rest}`),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(
    fc.property(almost, (workflowId) => {
      const parsed = parseEventKey(workflowId);
      if (parsed?.id === undefined || parsed.id.trim() === '' || parsed.id.includes('\0')) return;
      fc.pre(!`${parsed.tenant}${parsed.source}`.includes('\0'));
      fc.pre(parsed.tenant === '' || parsed.tenant.trim() !== '');
      fc.pre(
        encodeSegment(parsed.tenant).length <= tenantSegmentLimitBytes && workflowId.length <= workflowIdLimitBytes,
      );
      expect(keyOf({ ...parsed, id: parsed.id })).toBe(workflowId);
    }),
    { numRuns: 5000 },
  );
});

test.each(['event//shop/%61', 'event//shop/a%2fb', 'event//sh%6Fp/a', 'event/%7E/shop/%zz', 'event//shop/~short'])(
  '%s is another spelling, and no key',
  (workflowId) => {
    expect(parseEventKey(workflowId)).toBeUndefined();
  },
);

test('the hashed form of one id cannot be spelt by another', () => {
  const long = 'x'.repeat(500);
  const hashed = keyOf({ tenant: '', source: 'shop', id: long });
  const spelling = hashed.slice('event//shop/'.length);
  expect(keyOf({ tenant: '', source: 'shop', id: spelling })).toBe(`event//shop/%7E${sha256(long)}`);
  expect(keyOf({ tenant: '', source: 'shop', id: `${spelling.slice(1)}` })).not.toBe(hashed);
});

test.each([
  ['a blank id', { id: ' \t\n' }, 'identity_missing'],
  ['an id of 1,025 bytes', { id: 'x'.repeat(1025) }, 'identity_invalid'],
  ['an id with a lone surrogate', { id: 'a\ud800' }, 'identity_invalid'],
  ['an id with NUL', { id: 'a\0b' }, 'identity_invalid'],
  ['a tenant with NUL', { tenant: 'a\0b' }, 'identity_invalid'],
  ['a blank tenant', { tenant: ' \t' }, 'identity_invalid'],
  ['a tenant of 61 bytes', { tenant: 'x'.repeat(61) }, 'identity_invalid'],
  ['no source', { source: '' }, 'identity_invalid'],
])('%s is refused', (_what, part, code) => {
  expect(() => keyOf({ tenant: '', source: 'shop', id: 'evt_1', ...part })).toThrow(
    expect.objectContaining({ code }) as unknown as OnefoldError,
  );
});

test.each([1024, 1, 200])('an id of %i bytes is taken', (bytes) => {
  expect(keyOf({ tenant: '', source: 'shop', id: 'x'.repeat(bytes) })).toMatch(/^event\/\/shop\//);
});
