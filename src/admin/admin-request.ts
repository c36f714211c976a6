import { OnefoldError } from '../errors.js';
import type { AdminRoute } from './admin-route.js';

/** A request of the admin API, its names checked against its route. */
export interface AdminRequest {
  readonly tenant: string;
  /** Who acts, as the caller says. */
  readonly by: string;
  /** Decoded segments of the path. */
  readonly path: Fields;
  readonly query: Fields;
  readonly body: Fields;
}

/** Named values, read as what they have to be. Absent ones are left out of what a reader gives, so that it can be spread. */
export interface Fields {
  /** The value as it came. */
  any(name: string): unknown;
  /** @throws {OnefoldError} `request_invalid` where it is absent or no text. */
  text(name: string): string;
  /** @throws {OnefoldError} `request_invalid` where one is there and no text. */
  texts<Name extends string>(...names: Name[]): { readonly [Key in Name]?: string };
  /** @throws {OnefoldError} `request_invalid` where one is there and no time by ISO 8601 with its offset. */
  moments<Name extends string>(...names: Name[]): { readonly [Key in Name]?: Date };
  /** @throws {OnefoldError} `request_invalid` where one is there and neither true nor false. */
  flags<Name extends string>(...names: Name[]): { readonly [Key in Name]?: boolean };
  /** @throws {OnefoldError} `request_invalid` where one is there and no whole number. */
  numbers<Name extends string>(...names: Name[]): { readonly [Key in Name]?: number };
  /** All but these, as they came. */
  without(...names: string[]): Readonly<Record<string, unknown>>;
}

const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Checks that nothing is named that the route does not read, and nothing is missing that it needs.
 *
 * @param place `query` or `body`, for messages.
 * @throws {OnefoldError} `request_invalid` naming it.
 */
export function readFields(
  values: Readonly<Record<string, unknown>>,
  known: readonly string[],
  needs: readonly string[],
  place: 'path' | 'query' | 'body',
): Fields {
  const unknown = Object.keys(values).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const all = known.length === 0 ? 'it has none' : `known are ${known.join(', ')}`;
    throw invalid(place, unknown.slice(0, 60), `is not known here; ${all}`);
  }
  const missing = needs.find((name) => values[name] === undefined);
  if (missing !== undefined) throw invalid(place, missing, 'is missing');

  const readAll = <Value>(names: readonly string[], read: (value: unknown, name: string) => Value) => {
    const given = names.filter((name) => values[name] !== undefined);
    return Object.fromEntries(given.map((name) => [name, read(values[name], name)])) as never;
  };
  const text = (value: unknown, name: string): string => {
    if (typeof value === 'string' && !value.includes('\0')) return value;
    throw invalid(place, name, 'is no text');
  };
  return {
    any: (name) => values[name],
    text: (name) => text(values[name], name),
    texts: (...names) => readAll(names, text),
    moments: (...names) =>
      readAll(names, (value, name) => {
        const date = typeof value === 'string' && moment.test(value) ? new Date(value) : undefined;
        if (date && !Number.isNaN(date.getTime())) return date;
        throw invalid(place, name, 'is no time such as 2026-02-03T04:05:06Z');
      }),
    flags: (...names) =>
      readAll(names, (value, name) => {
        // A query holds text only.
        if (value === true || value === 'true') return true;
        if (value === false || value === 'false') return false;
        throw invalid(place, name, 'is neither true nor false');
      }),
    numbers: (...names) =>
      readAll(names, (value, name) => {
        const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
        if (Number.isInteger(number)) return number as number;
        throw invalid(place, name, 'is no whole number');
      }),
    without: (...names) => Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name))),
  };
}

/** Names that a route reads of a place. */
export function namesOf(described: AdminRoute['query'] | AdminRoute['body']): readonly string[] {
  return Object.keys(described ?? {});
}

function invalid(place: string, name: string, what: string): OnefoldError {
  return new OnefoldError('request_invalid', `${place}: '${name}' ${what}`);
}
