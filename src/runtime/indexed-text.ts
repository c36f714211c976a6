import { utf8Bytes } from '../identity/encode-segment.js';
import { sha256 } from './sha256.js';

/** Temporal takes 2,048 bytes of a value, and a PostgreSQL-backed server's index holds 255. */
const indexedBytes = 255;

/** A value for an index: itself, or a prefix and a hash, so that long values stay distinct. */
export function indexedText(value: string): string {
  return utf8Bytes(value) <= indexedBytes
    ? value
    : `${cutBytes(value, indexedBytes - 17)}~${sha256(value).slice(0, 16)}`;
}

/** The longest prefix of whole characters within a number of bytes. */
export function cutBytes(text: string, bytes: number): string {
  if (utf8Bytes(text) <= bytes) return text;
  let kept = '';
  let size = 0;
  for (const char of text) {
    size += utf8Bytes(char);
    if (size > bytes) break;
    kept += char;
  }
  return kept;
}
