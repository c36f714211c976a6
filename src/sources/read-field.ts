import { isLosslessNumber } from 'lossless-json';
import type { ParsedJson } from './parse-json.js';

/**
 * The value at a path of keys joined by dots, `data.order`; array items by their number. Only what the JSON holds: own
 * and enumerable keys, so neither a prototype's nor the length of a list.
 */
export function valueAt(value: unknown, path: string): unknown {
  let at = value;
  for (const key of path.split('.')) {
    if (typeof at !== 'object' || at === null || !isMember(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

function isMember(object: object, key: string): boolean {
  return Object.prototype.propertyIsEnumerable.call(object, key);
}

/**
 * The text at a path, as it may serve an identity: a string itself, an integer by its digits, any other number as it
 * was written. Integers beyond 2^53 are read from the text, since `JSON.parse` gives neighbours there the same value.
 * Undefined for everything else, and for blank strings.
 */
export function textAt(json: ParsedJson, path: string): string | undefined {
  const value = valueAt(json.value, path);
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value !== 'number') return undefined;
  // The common case, without the cost of the exact parser, which is many times that of JSON.parse.
  if (Number.isSafeInteger(value)) return String(value);
  const exact = valueAt(json.lossless(), path);
  return isLosslessNumber(exact) ? exact.value : undefined;
}

/** The string at a path; undefined for everything else, and for blank strings. */
export function stringAt(json: ParsedJson, path: string): string | undefined {
  const value = valueAt(json.value, path);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
