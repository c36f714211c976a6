import { timingSafeEqual } from 'node:crypto';

/**
 * Compares a signature as text, in constant time for texts of one length. Texts and not decoded bytes, because several
 * base64 texts decode to the same bytes, and a signature that was changed on its way should not pass. A wrong length
 * is an ordinary difference.
 */
export function equalText(given: string, expected: string): boolean {
  const givenBytes = Buffer.from(given, 'utf8');
  const expectedBytes = Buffer.from(expected, 'utf8');
  return givenBytes.length === expectedBytes.length && timingSafeEqual(givenBytes, expectedBytes);
}
