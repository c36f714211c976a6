import { OnefoldError } from '../errors.js';

/** Rows of a page where nobody says. */
const defaultPageRows = 50;

/** The most rows of a page: an answer of some 100 KiB. */
export const maximumPageRows = 200;

/** A page of a list, and where the next one begins. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Give it as `cursor` for the next page; undefined on the last. Opaque, and good as long as the filters stay the same. */
  readonly next?: string;
}

/**
 * Reads how many rows a page shall have.
 *
 * @throws {OnefoldError} `request_invalid` for anything but a whole number from 1 to 200.
 */
export function readLimit(limit: number | undefined): number {
  if (limit === undefined) return defaultPageRows;
  if (Number.isInteger(limit) && limit >= 1 && limit <= maximumPageRows) return limit;
  throw new OnefoldError('request_invalid', `limit: expected a whole number from 1 to ${maximumPageRows}`);
}

/** Makes a cursor of the place where a page ended. */
export function writeCursor(place: readonly string[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/**
 * Reads a cursor back.
 *
 * @param forms What each part of the place looks like; `undefined` for any text.
 * @throws {OnefoldError} `request_invalid` for anything that is no cursor of this list.
 */
export function readCursor<Place extends readonly string[]>(
  cursor: string | undefined,
  forms: { readonly [Part in keyof Place]: Pick<RegExp, 'test'> | undefined },
): Place | undefined {
  if (cursor === undefined) return undefined;
  const place = parsed(cursor);
  const fits =
    Array.isArray(place) &&
    place.length === forms.length &&
    place.every(
      (part, index) => typeof part === 'string' && !part.includes('\0') && (forms[index]?.test(part) ?? true),
    );
  if (!fits) throw new OnefoldError('request_invalid', 'cursor: expected the `next` of an earlier page of this list');
  return place as unknown as Place;
}

/** How a place says a moment, to the microsecond. PostgreSQL answers 30 February, and the year 0, with an error. */
export const momentForm: Pick<RegExp, 'test'> = {
  test(part) {
    if (!/^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(part)) return false;
    const moment = new Date(part);
    // Of a day that its month does not have, JavaScript makes one of the next month.
    return (
      !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(part.slice(0, 'yyyy-mm-ddThh:mm:ss'.length))
    );
  },
};

/** Makes a page of one row more than asked for, which tells that there is another page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  item: (row: Row) => Item,
  place: (row: Row) => readonly string[],
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(item),
    ...(rows.length > limit && last !== undefined ? { next: writeCursor(place(last)) } : {}),
  };
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
