import { OnefoldError } from '../errors.js';

/** Extra headers of one endpoint. */
export const headersLimit = 20;

/** Names and values of them together, bytes; receivers commonly refuse a request with more than 8 KiB of headers. */
export const headersLimitBytes = 4_096;

/** RFC 9110, section 5.6.2: `token`. */
const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * RFC 9110, section 5.5: a field value, here of ASCII alone, neither blank nor with blanks around it. No line break and no
 * other control character, so that no value can begin a header of its own, or a second request.
 */
const valueForm = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;

/**
 * Headers that an endpoint may not have, with the reason. `authorization` is allowed: it is how a receiver asks for a
 * credential. `cookie` is not: a receiver that takes one takes it from browsers.
 */
const refusedNames: readonly (readonly [pattern: RegExp, because: string])[] = [
  [/^host$/, 'it follows from the URL'],
  [/^content-/, 'it describes the body, which the sender makes'],
  [/^(webhook|onefold)-/, 'the sender writes it'],
  [/^(user-agent|accept-encoding|date)$/, 'the sender writes it'],
  [/^cookie2?$/, 'a session belongs to a browser; use authorization or a header of your own'],
  [/^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|http2-settings)$/, 'it governs the connection'],
  [/^proxy-/, 'it is for proxies'],
];

/**
 * Judges the extra headers of an endpoint.
 *
 * @returns Them with names in lower case, in the order of their names.
 * @throws {OnefoldError} `endpoint_invalid` naming the header, never its value: for a name that is no token, that stands
 * twice or is the sender's own, for a value that is not visible ASCII within, and beyond 20 headers or 4 KiB.
 */
export function checkHeaders(headers: unknown): Readonly<Record<string, string>> {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw refused('expected an object of names and values');
  }
  const entries = Object.entries(headers).map(([name, value]) => [checkName(name), checkValue(name, value)] as const);
  if (entries.length > headersLimit) throw refused(`at most ${headersLimit}, got ${entries.length}`);
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (bytes > headersLimitBytes) throw refused(`at most ${headersLimitBytes} bytes together, got ${bytes}`);
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw refused(`'${twice}' stands there twice`);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function checkName(given: string): string {
  if (!nameForm.test(given)) throw refused(`${JSON.stringify(given.slice(0, 64))} is no name of a header`);
  const name = given.toLowerCase();
  const [, because] = refusedNames.find(([pattern]) => pattern.test(name)) ?? [];
  if (because !== undefined) throw refused(`'${name.slice(0, 64)}' cannot be set: ${because}`);
  return name;
}

function checkValue(name: string, value: unknown): string {
  if (typeof value === 'string' && valueForm.test(value)) return value;
  throw refused(
    `the value of '${name.slice(0, 64)}' is not text of visible ASCII characters, which may have blanks between them`,
  );
}

function refused(what: string): OnefoldError {
  return new OnefoldError('endpoint_invalid', `headers: ${what}`);
}
