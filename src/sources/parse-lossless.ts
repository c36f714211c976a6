import { parse } from 'lossless-json';

/**
 * Parses JSON with every number as a `LosslessNumber`, its digits exactly as sent. Of a key that stands twice the last
 * value counts, as with `JSON.parse`: two readers of one text must not see two events in it.
 *
 * @throws {SyntaxError} for text that is not JSON.
 */
export function parseLossless(json: string): unknown {
  return parse(json, undefined, { onDuplicateKey: ({ newValue }) => newValue });
}
