import { OnefoldError } from '../errors.js';

/**
 * Refuses options that nobody reads: a misspelt option that is silently ignored is a setting that silently is not set.
 *
 * @param place Where the options stand, for the message: `source 'shop'`.
 * @throws {OnefoldError} `config_invalid` naming the option and, where one is close, the one that was meant; and for what is
 * no object of options at all, as code without types may give.
 */
export function refuseUnknownOptions(options: object, allowed: readonly string[], place: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new OnefoldError('config_invalid', `${place}: expected an object with ${allowed.join(', ')}`);
  }
  for (const name of Object.keys(options)) {
    if (allowed.includes(name)) continue;
    const meant = allowed.find((known) => closeTo(known.toLowerCase(), name.toLowerCase()));
    throw new OnefoldError(
      'config_invalid',
      `${place}: unknown option '${name}'${meant ? `; did you mean '${meant}'?` : `; known are ${allowed.join(', ')}`}`,
    );
  }
}

/** One letter changed, added, lost or swapped, or the one is the start of the other. */
function closeTo(known: string, given: string): boolean {
  if (given.length >= 3 && (known.startsWith(given) || given.startsWith(known))) return true;
  if (Math.abs(known.length - given.length) > 1) return false;
  let start = 0;
  while (start < known.length && known[start] === given[start]) start++;
  let end = 0;
  while (end < known.length - start && end < given.length - start && known.at(-1 - end) === given.at(-1 - end)) end++;
  const left = Math.max(known.length, given.length) - start - end;
  return left <= 1 || (left === 2 && known.length === given.length && known[start] === given[start + 1]);
}

/** Names of sources and effects: they stand in URLs, workflow IDs, metric labels and log lines. */
const namePattern = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** @throws {OnefoldError} `config_invalid` for a name that is not 1 to 64 of `a-z 0-9 . _ -`, ends being letter or digit. */
export function checkName(name: unknown, place: string): void {
  if (typeof name !== 'string' || !namePattern.test(name)) {
    throw new OnefoldError(
      'config_invalid',
      `${place}: a name has 1 to 64 of the characters a-z 0-9 . _ - and begins and ends with a letter or digit, got ${JSON.stringify(name)}`,
    );
  }
}
