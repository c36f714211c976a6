import fc from 'fast-check';
import { expect, test } from 'vitest';
import { businessKey, businessKeyLimitBytes } from '../../src/identity/business-identity.js';

const refused = expect.objectContaining({ code: 'business_key_invalid' });

test.each([undefined, null, 42, 42n, true, {}, ['a'], '', '  ', '\n', 'a\0b', 'a\ud800', '\udc00'])(
  '%s is no business key',
  (value) => {
    expect(() => businessKey(value)).toThrow(refused);
  },
);

test('512 bytes are a key and 513 are none, whatever the characters', () => {
  for (const unit of ['k', 'é', '€', '🧾']) {
    const bytes = Buffer.byteLength(unit);
    const longest = unit.repeat(Math.floor(businessKeyLimitBytes / bytes));
    expect(businessKey(longest)).toBe(longest);
    expect(() => businessKey(longest + unit)).toThrow(refused);
  }
});

test('every other text is taken unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (text) => {
      fc.pre(text.trim() !== '' && !text.includes('\0') && Buffer.byteLength(text) <= businessKeyLimitBytes);
      expect(businessKey(text)).toBe(text);
    }),
  );
});
