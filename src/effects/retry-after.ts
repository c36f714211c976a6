const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const longDay = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const month = `(?<month>${months.join('|')})`;
const time = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)';

/** The three forms of a date in HTTP. The two obsolete ones must be understood too. */
const dateForms = [
  new RegExp(`^${day}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^${longDay}, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`),
  new RegExp(`^${day} ${month} (?<day>\\d\\d| \\d) ${time} (?<year>\\d{4})$`),
];

/**
 * Reads a Retry-After header: whole seconds, or a date in any of HTTP's three forms.
 *
 * @param value The header's value; spaces around it are ignored.
 * @param nowMs What a date is measured from, in ms since 1970.
 * @returns ms to wait, 0 for a date that has passed, at most `Number.MAX_SAFE_INTEGER`. Undefined for anything else: a
 *   wish that cannot be read is none.
 * @see RFC 9110, sections 10.2.3 (Retry-After) and 5.6.7 (dates).
 */
export function retryAfterMs(value: string, nowMs: number): number | undefined {
  const text = value.replace(/^[ \t]+|[ \t]+$/g, '');
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  const at = httpDate(text, nowMs);
  return at === undefined ? undefined : Math.max(0, at - nowMs);
}

function httpDate(text: string, nowMs: number): number | undefined {
  for (const form of dateForms) {
    const groups = form.exec(text)?.groups;
    if (groups) return instant(groups, nowMs);
  }
  return undefined;
}

function instant(groups: Readonly<Record<string, string | undefined>>, nowMs: number): number | undefined {
  const [year, dayOfMonth, hour, minute, second] = ['year', 'day', 'hour', 'minute', 'second'].map((name) =>
    Number(groups[name]),
  ) as [number, number, number, number, number];
  const monthIndex = months.indexOf(groups.month ?? '');
  // 60 is a leap second, which no Date holds; it is read as the second after it.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const at = new Date(0);
  // Not Date.UTC, which takes the years 0 to 99 for 1900 to 1999.
  at.setUTCFullYear(groups.year?.length === 2 ? fullYear(year, nowMs) : year, monthIndex, dayOfMonth);
  // 31 February would silently become a day in March.
  if (at.getUTCDate() !== dayOfMonth) return undefined;
  return at.setUTCHours(hour, minute, second);
}

/** A year of two digits that seems more than 50 years ahead is the last one in the past that ends so. */
function fullYear(twoDigits: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear();
  const year = now - (now % 100) + twoDigits;
  return year > now + 50 ? year - 100 : year;
}
