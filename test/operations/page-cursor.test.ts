import fc from 'fast-check';
import { expect, test } from 'vitest';
import { momentForm, pageOf, readCursor, readLimit, writeCursor } from '../../src/operations/page-cursor.js';

test('a cursor reads back as the place it was made of, and fits a URL', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (publication, endpoint) => {
      fc.pre(![publication, endpoint].some((text) => text.includes('\0')));
      const place = ['2026-02-03T04:05:06.123456Z', publication, endpoint];
      const cursor = writeCursor(place);
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
      expect(readCursor(cursor, [momentForm, undefined, undefined])).toEqual(place);
    }),
  );
});

test('anything else is request_invalid', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((json) => Buffer.from(json).toString('base64url')),
      ),
      (cursor) => {
        expect(() => readCursor(cursor, [momentForm, undefined])).toThrow(
          expect.objectContaining({ code: 'request_invalid' }),
        );
      },
    ),
  );
});

test('a page ends where the limit does, and names the next one only where a row is left', () => {
  const page = (rows: number[]) => pageOf(rows, 2, String, (row) => [String(row)]);
  expect(page([1, 2])).toEqual({ items: ['1', '2'] });
  expect(page([])).toEqual({ items: [] });
  expect(page([1, 2, 3])).toEqual({ items: ['1', '2'], next: writeCursor(['2']) });
});

test('a limit is a whole number from 1 to 200, and 50 where nobody says', () => {
  expect([readLimit(undefined), readLimit(1), readLimit(200)]).toEqual([50, 1, 200]);
  for (const limit of [0, 201, 1.5, Number.NaN, '5' as unknown as number]) {
    expect(() => readLimit(limit)).toThrow(expect.objectContaining({ code: 'request_invalid' }));
  }
});

test.each([
  '2026-02-30T04:05:06.123456Z',
  '2026-13-01T00:00:00.000000Z',
  '2026-02-03T25:00:00.000000Z',
  '0000-01-01T00:00:00.000000Z',
])('a cursor whose moment is %s, which PostgreSQL has not, is request_invalid', (moment) => {
  expect(() => readCursor(writeCursor([moment]), [momentForm])).toThrow(
    expect.objectContaining({ code: 'request_invalid' }),
  );
});
