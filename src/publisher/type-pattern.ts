import { OnefoldError } from '../errors.js';

/** The most characters of a type and of a pattern. */
export const typeLimit = 128;

/** Types of what Onefold itself tells about endpoints begin so; a user's type may not. */
export const systemTypePrefix = 'endpoint.';

/** Words of letters, digits, `_` and `-`, joined by full stops, as Standard Webhooks recommends. */
const typeForm = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;

/**
 * Judges the type of a message, whoever publishes it.
 *
 * @throws {OnefoldError} `publication_invalid` for anything but words of `A-Z a-z 0-9 _ -` joined by full stops, and for
 * more than 128 characters.
 * @see Standard Webhooks 1.0.0, "Event types".
 */
export function checkAnyType(type: unknown): string {
  if (isType(type)) return type;
  throw new OnefoldError(
    'publication_invalid',
    `type: expected words of A-Z a-z 0-9 _ - joined by full stops, such as 'order.paid', and at most ${typeLimit} characters, got ${told(type)}`,
  );
}

/**
 * Judges the type of a message that a user publishes.
 *
 * @throws {OnefoldError} `publication_invalid` for what {@link checkAnyType} refuses, and for a type that begins with
 * `endpoint.`, which are Onefold's own.
 */
export function checkType(type: unknown): string {
  const checked = checkAnyType(type);
  if (!checked.startsWith(systemTypePrefix)) return checked;
  throw new OnefoldError(
    'publication_invalid',
    `type: '${checked}' begins with '${systemTypePrefix}', as only what Onefold tells about endpoints does`,
  );
}

/**
 * Judges one entry of the types that an endpoint subscribes to: a type, a prefix and `.*`, or `*` alone.
 *
 * @throws {OnefoldError} `endpoint_invalid` for anything else.
 */
export function checkPattern(pattern: unknown): string {
  const isPattern =
    pattern === '*' ||
    (typeof pattern === 'string' &&
      pattern.length <= typeLimit &&
      isType(pattern.endsWith('.*') ? pattern.slice(0, -2) : pattern));
  if (!isPattern) {
    throw new OnefoldError(
      'endpoint_invalid',
      `types: expected a type such as 'order.paid', all below a word such as 'order.*', or '*', and at most ${typeLimit} characters, got ${told(pattern)}`,
    );
  }
  return pattern;
}

/**
 * The patterns that a type matches, the exact one first and the widest last: `order.paid` gives `order.paid`, `order.*`
 * and `*`. An endpoint gets the type where it subscribes to any of them: `types && $1` in SQL.
 *
 * `*` leaves out what Onefold tells about endpoints, so that who asked for everything that happens in the business is not
 * sent the state of other people's servers; `endpoint.*` or the exact type asks for that.
 */
export function candidatePatterns(type: string): string[] {
  const words = type.split('.');
  const prefixes = words.slice(0, -1).map((_, index) => `${words.slice(0, index + 1).join('.')}.*`);
  return [type, ...prefixes.reverse(), ...(type.startsWith(systemTypePrefix) ? [] : ['*'])];
}

function isType(type: unknown): type is string {
  return typeof type === 'string' && type.length <= typeLimit && typeForm.test(type);
}

function told(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, typeLimit)) : typeof value;
}
