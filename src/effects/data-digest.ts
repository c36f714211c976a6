import { isLosslessNumber, isSafeNumber } from 'lossless-json';
import { sha256 } from '../runtime/sha256.js';

/**
 * Digest of an event's data, equal for equal values whatever the order of their keys: tells whether another event on the
 * same business key brought the same data. Numbers parsed without loss are compared by their digits where a double cannot
 * hold them. Of what JSON has no form for, a schema's `Date`, `bigint`, `Map` and `Set` are told apart by their contents.
 */
export function dataDigest(data: unknown): string {
  return sha256(canonical(data));
}

function canonical(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  // As JSON.parse would have read it, so that 1.0 is 1, unless that changes what was sent.
  if (isLosslessNumber(value)) return isSafeNumber(value.value) ? JSON.stringify(Number(value.value)) : value.value;
  if (value instanceof Map || value instanceof Set) return `${value.constructor.name}${canonical([...value])}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if ('toJSON' in value && typeof value.toJSON === 'function') return canonical(value.toJSON());
  const members = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.join(',')}}`;
}
