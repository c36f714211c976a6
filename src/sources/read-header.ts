import type { HeaderMap } from './source.js';

/** The lines in which a header came, blank ones left out. */
export function headerLines(headers: HeaderMap, name: string): readonly string[] {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  const lines = value === undefined ? [] : typeof value === 'string' ? [value] : value;
  return lines.filter((line) => line.trim() !== '');
}

/**
 * A header that must say one thing. Undefined where it is absent, blank, or came in several lines that differ: which of
 * them the sender meant nobody can know.
 *
 * @param name In lower case.
 */
export function readHeader(headers: HeaderMap, name: string): string | undefined {
  const [first, ...others] = headerLines(headers, name);
  return others.every((line) => line === first) ? first : undefined;
}

/**
 * The bytes of a header as they came over the wire. HTTP hands header text over as Latin-1, one character per byte, so
 * this also restores a value that its sender wrote, and signed, in UTF-8.
 */
export function headerBytes(value: string): Buffer {
  return Buffer.from(value, 'latin1');
}

/** The media type of the body, in lower case and without parameters; '' where the header is absent. */
export function mediaTypeOf(headers: HeaderMap): string {
  return (readHeader(headers, 'content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
}
