import ms from 'ms';
import { OnefoldError } from '../errors.js';

/**
 * Reads a duration in Temporal's words ('30 seconds', '3 days') or as a number of ms.
 *
 * @param place Where the value stands in the configuration, for the message.
 * @param longest The most that is taken, such as '1 hour'. Whatever becomes a timer of this process needs one: Node fires
 *   a timer of more than 24.8 days after 1 ms. Default: no bound.
 * @throws {OnefoldError} `config_invalid` for anything else, for less than 1 ms, and beyond the bound.
 */
export function durationMs(value: unknown, place: string, longest?: ms.StringValue): number {
  const read = typeof value === 'number' ? value : typeof value === 'string' ? inWords(value) : undefined;
  // What rounds to 0 would be stored as none at all.
  if (read === undefined || !Number.isFinite(read) || Math.round(read) < 1) {
    throw new OnefoldError(
      'config_invalid',
      `${place}: expected a duration such as '30 seconds' or a number of ms from 1 on, got ${told(value)}`,
    );
  }
  if (longest !== undefined && read > ms(longest)) {
    throw new OnefoldError('config_invalid', `${place}: at most ${longest}, got ${told(value)}`);
  }
  return Math.round(read);
}

/** The longest text that `ms` reads; it throws an error of its own for a longer one, and for an empty one. */
const longestText = 100;

function inWords(text: string): number | undefined {
  return text === '' || text.length > longestText ? undefined : ms(text as ms.StringValue);
}

function told(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, longestText));
  return typeof value === 'number' || value === null ? String(value) : typeof value;
}
