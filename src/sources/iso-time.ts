/** A date and time with its offset, the fraction of the second apart; a date without an offset says no instant. */
const isoInstant = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/i;

/**
 * Reads a provider's event time as ISO 8601 in UTC, truncated to ms. The time is shown and compared, never an identity,
 * so what cannot be read is left out and refuses nothing.
 *
 * @param value ISO text of any precision, or a number (or its digits) in the unit.
 * @param unit What a number counts since 1970. Default 'seconds'.
 */
export function isoTime(value: unknown, unit: 'seconds' | 'milliseconds' = 'seconds'): string | undefined {
  const ms = typeof value === 'string' ? (fromIso(value) ?? fromNumber(value, unit)) : fromNumber(value, unit);
  return ms === undefined || Number.isNaN(new Date(ms).getTime()) ? undefined : new Date(ms).toISOString();
}

function fromIso(text: string): number | undefined {
  const match = isoInstant.exec(text);
  if (!match) return undefined;
  const [, toTheSecond, fraction = '', offset] = match;
  return Date.parse(`${toTheSecond}.${fraction.slice(0, 3).padEnd(3, '0')}${offset}`);
}

function fromNumber(value: unknown, unit: 'seconds' | 'milliseconds'): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}(\.\d{1,9})?$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return undefined;
  // Rounding to µs first, since 1.001 s is 1000.9999999999999 ms.
  return unit === 'seconds' ? Math.floor(Math.round(number * 1_000_000) / 1000) : Math.floor(number);
}
