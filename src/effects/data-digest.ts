import { sha256 } from '../runtime/sha256.js';

/**
 * Digest of an event's data, equal for equal JSON values whatever the order of their keys: tells whether another event on
 * the same business key brought the same data.
 */
export function dataDigest(data: unknown): string {
  return sha256(canonical(data));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}
