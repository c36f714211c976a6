import ms from 'ms';
import { OnefoldError } from '../errors.js';

/**
 * Reads a duration in Temporal's words ('30 seconds', '3 days') or as a number of ms.
 *
 * @param place Where the value stands in the configuration, for the message.
 * @throws {OnefoldError} `config_invalid` for anything else, or for a value that is not positive.
 */
export function durationMs(value: unknown, place: string): number {
  const read = typeof value === 'number' ? value : typeof value === 'string' ? ms(value as ms.StringValue) : Number.NaN;
  if (!Number.isFinite(read) || read <= 0) {
    throw new OnefoldError(
      'config_invalid',
      `${place}: expected a duration such as '30 seconds' or a positive number of ms, got ${JSON.stringify(value)}`,
    );
  }
  return Math.round(read);
}
