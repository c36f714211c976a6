import fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/effects/retry-after.js';

const now = Date.parse('2026-02-03T04:05:06Z');

test.each([
  ['seconds', '120', 120_000],
  ['no seconds', '0', 0],
  ['leading zeros', '007', 7000],
  ['spaces around', ' \t120 ', 120_000],
  ['a date', 'Tue, 03 Feb 2026 04:07:06 GMT', 120_000],
  ['the obsolete date of RFC 850', 'Tuesday, 03-Feb-26 04:07:06 GMT', 120_000],
  ["the obsolete date of C's asctime", 'Tue Feb  3 04:07:06 2026', 120_000],
  ['asctime on a day of two digits', 'Fri Feb 13 04:05:06 2026', 10 * 86_400_000],
  ['a date that has passed', 'Tue, 03 Feb 2026 04:00:00 GMT', 0],
  ['a leap second', 'Tue, 03 Feb 2026 04:05:60 GMT', 54_000],
  ['a leap day', 'Tue, 29 Feb 2028 04:05:06 GMT', 756 * 86_400_000],
  ['a year of two digits that is far ahead, so in the past', 'Tuesday, 03-Feb-77 04:05:06 GMT', 0],
  ['more seconds than a number counts', '9'.repeat(400), Number.MAX_SAFE_INTEGER],
])('%s is read', (_what, value, waitMs) => {
  expect(retryAfterMs(value, now)).toBe(waitMs);
});

test('a year of two digits reaches 50 years ahead and no further', () => {
  expect(retryAfterMs('Tuesday, 03-Feb-76 04:05:06 GMT', now)).toBe(Date.parse('2076-02-03T04:05:06Z') - now);
});

test.each([
  ['nothing', ''],
  ['blanks', '  '],
  ['a negative number', '-1'],
  ['a sign', '+1'],
  ['a fraction', '1.5'],
  ['an exponent', '1e3'],
  ['hexadecimal', '0x10'],
  ['digits of another script', '١٢٠'],
  ['two values', '120, 120'],
  ['words', 'soon'],
  ['an ISO date', '2026-02-03T04:07:06Z'],
  ['a date without GMT', 'Tue, 03 Feb 2026 04:07:06'],
  ['a date in another zone', 'Tue, 03 Feb 2026 04:07:06 CET'],
  ['a date with an offset', 'Tue, 03 Feb 2026 04:07:06 +0000'],
  ['a month in other case', 'Tue, 03 feb 2026 04:07:06 GMT'],
  ['a day that the month has not', 'Tue, 31 Feb 2026 04:07:06 GMT'],
  ['29 February in a common year', 'Sun, 29 Feb 2026 04:07:06 GMT'],
  ['day 0', 'Tue, 00 Feb 2026 04:07:06 GMT'],
  ['hour 24', 'Tue, 03 Feb 2026 24:00:00 GMT'],
  ['minute 60', 'Tue, 03 Feb 2026 04:60:00 GMT'],
  ['second 61', 'Tue, 03 Feb 2026 04:07:61 GMT'],
  ['a line break', '120\n'],
])('%s is no wish', (_what, value) => {
  expect(retryAfterMs(value, now)).toBeUndefined();
});

test('every number of whole seconds is read exactly', () => {
  fc.assert(
    fc.property(fc.nat(), (seconds) => {
      expect(retryAfterMs(String(seconds), now)).toBe(seconds * 1000);
    }),
  );
});

const wholeSeconds = (from: string, to: string) =>
  fc.integer({ min: Date.parse(from) / 1000, max: Date.parse(to) / 1000 }).map((seconds) => new Date(seconds * 1000));

const longDays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

test('every date is measured the same in all three forms', () => {
  fc.assert(
    fc.property(wholeSeconds('1980-01-01', '2076-01-01'), (at) => {
      const [day = '', date = '', month = '', year = '', time = ''] = at.toUTCString().split(' ');
      const rfc850 = `${longDays[at.getUTCDay()]}, ${date}-${month}-${year.slice(2)} ${time} GMT`;
      const asctime = `${day.slice(0, 3)} ${month} ${date.replace(/^0/, ' ')} ${time} ${year}`;
      const wait = Math.max(0, at.getTime() - now);
      expect([at.toUTCString(), rfc850, asctime].map((form) => retryAfterMs(form, now))).toEqual([wait, wait, wait]);
    }),
  );
});

test('every date of a year of four digits is read', () => {
  fc.assert(
    fc.property(wholeSeconds('0001-01-01', '9999-12-31'), (at) => {
      expect(retryAfterMs(at.toUTCString(), now)).toBe(Math.max(0, at.getTime() - now));
    }),
  );
});

test('any text is a wait or no wish, and never throws', () => {
  const like = fc.stringMatching(
    /^[ \t]*[A-Za-z]{0,9},? ?[0-9]{0,2}[ -][A-Z][a-z]{2}[ -][0-9:]{0,9} [0-9: GMT]{0,14}$/,
  );
  fc.assert(
    fc.property(fc.oneof(fc.string(), like), fc.date({ noInvalidDate: true }), (text, at) => {
      const wait = retryAfterMs(text, at.getTime());
      expect(wait === undefined || (Number.isFinite(wait) && wait >= 0)).toBe(true);
    }),
  );
});
