import { retryAfterMs } from './retry-after.js';

/**
 * Reads Retry-After out of headers: `Headers` and what is like them, or an object with lower-case names, where a header
 * that came twice may be an array; the longest wish then counts.
 *
 * @param nowMs What a date is measured from, in ms since 1970.
 * @returns ms to wait; undefined where there is no such header, or none that can be read.
 */
export function headerRetryAfterMs(headers: unknown, nowMs: number): number | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined;
  const { get } = headers as { get?: unknown };
  const value: unknown =
    typeof get === 'function' ? get.call(headers, 'retry-after') : (headers as Record<string, unknown>)['retry-after'];
  const wishes = (Array.isArray(value) ? value : [value])
    .map((wish) =>
      typeof wish === 'string' || typeof wish === 'number' ? retryAfterMs(String(wish), nowMs) : undefined,
    )
    .filter((wish) => wish !== undefined);
  return wishes.length > 0 ? Math.max(...wishes) : undefined;
}
