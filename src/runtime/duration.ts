import ms from 'ms';
import { OnefoldError } from '../errors.js';

/**
 * Reads a duration in Temporal's words ('30 seconds', '3 days') or as a number of ms.
 *
 * @param place Where the value stands in the configuration, for the message.
 * @param longest The most that is taken, such as '1 hour'. Whatever becomes a timer of this process needs one: Node fires
 *   a timer of more than 24.8 days after 1 ms. Default: no bound.
 * @throws {OnefoldError} `config_invalid` for anything else, for a value that is not positive, and beyond the bound.
 */
export function durationMs(value: unknown, place: string, longest?: ms.StringValue): number {
  const read = typeof value === 'number' ? value : typeof value === 'string' ? ms(value as ms.StringValue) : Number.NaN;
  if (!Number.isFinite(read) || read <= 0) {
    throw new OnefoldError(
      'config_invalid',
      `${place}: expected a duration such as '30 seconds' or a positive number of ms, got ${JSON.stringify(value)}`,
    );
  }
  if (longest !== undefined && read > ms(longest)) {
    throw new OnefoldError('config_invalid', `${place}: at most ${longest}, got ${JSON.stringify(value)}`);
  }
  return Math.round(read);
}
