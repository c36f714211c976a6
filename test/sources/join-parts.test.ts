import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapePart, joinParts } from '../../src/sources/join-parts.js';

/** Texts in which the separator and the escape are frequent. */
const part = fc.string({ unit: fc.constantFrom('a', ':', '%', '3', 'A', '2', '5'), maxLength: 6 });

describe('joinParts', () => {
  it('different lists of several parts never join to one text', () => {
    const list = fc.array(part, { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(list, list, (one, other) => {
        const equal = JSON.stringify(one) === JSON.stringify(other);
        expect(joinParts(one) === joinParts(other)).toBe(equal);
      }),
      { numRuns: 2000 },
    );
  });

  it('the parts can be read back from the text', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 2 }), (parts) => {
        const read = joinParts(parts)
          .split(':')
          .map((text) => text.replaceAll('%3A', ':').replaceAll('%25', '%'));
        expect(read).toEqual(parts);
      }),
    );
  });

  it('a single part stays as the provider spells it', () => {
    expect(joinParts(['evt:100%'])).toBe('evt:100%');
  });

  it('an escaped part never spells several joined ones', () => {
    fc.assert(
      fc.property(part, (text) => {
        expect(escapePart(text)).not.toContain(':');
      }),
    );
    expect(escapePart('a:b')).not.toBe(joinParts(['a', 'b']));
  });
});
