import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formField } from '../../src/sources/form-field.js';

it('reads what URLSearchParams writes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (payload, other) => {
      const form = new URLSearchParams({ other, payload }).toString();
      expect(formField(Buffer.from(form), 'payload')).toBe(payload);
    }),
  );
});

it.each([
  ['no such field', 'other=1'],
  ['a field that stands twice', 'payload=1&payload=2'],
  ['an escape that is not whole', 'payload=%7'],
  ['an escape that is none', 'payload=100%'],
  ['escapes that are not UTF-8', 'payload=%FF'],
  ['raw bytes beyond ASCII', 'payload=é'],
  ['a longer name', 'payloads=1'],
])('%s gives nothing', (_what, form) => {
  expect(formField(Buffer.from(form), 'payload')).toBeUndefined();
});
