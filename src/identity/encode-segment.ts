import { OnefoldError } from '../errors.js';

/** A readable segment holds only these and `%XX`; so neither `/` nor a leading `~` can come from an identity. */
const plain = /^[A-Za-z0-9._:@-]*$/;
const encoder = new TextEncoder();

/**
 * Percent-encodes one segment of a workflow ID, one to one: every byte outside `[A-Za-z0-9._:@-]` becomes `%XX`, so two
 * different texts never give one segment and the segment separator `/` and the hash mark `~` never come from a text.
 *
 * @throws {OnefoldError} `identity_invalid` for text with a lone surrogate, which has no UTF-8 form.
 */
export function encodeSegment(text: string): string {
  if (plain.test(text)) return text;
  assertWellFormed(text);
  let encoded = '';
  for (const byte of encoder.encode(text)) {
    const char = String.fromCharCode(byte);
    encoded += byte < 0x80 && plain.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

/** The inverse of {@link encodeSegment}. */
export function decodeSegment(segment: string): string {
  return decodeURIComponent(segment);
}

/** The length of a text in UTF-8 bytes, which is what Temporal and PostgreSQL limit. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

/**
 * Refuses text that UTF-8 cannot carry, and so neither Temporal nor PostgreSQL.
 *
 * @throws {OnefoldError} `identity_invalid` for a lone surrogate.
 */
export function assertWellFormed(text: string): void {
  if (/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text)) {
    throw new OnefoldError('identity_invalid', 'an identity holds a lone surrogate, which is not text');
  }
}
