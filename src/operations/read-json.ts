import { parseResult } from '../effects/encode-result.js';
import { OnefoldError } from '../errors.js';
import { parseJson } from '../sources/parse-json.js';

/**
 * Reads JSON that a person or a program gave us to act upon: whole numbers beyond what a double holds exactly become
 * `bigint`, as `publish` takes them, so that none is rounded in silence.
 *
 * @throws {OnefoldError} `body_malformed` for bytes that are not UTF-8 or not JSON, or say one key twice; `body_too_deep`.
 */
export function readJson(bytes: Uint8Array): unknown {
  const parsed = parseJson(bytes);
  if (!parsed.ok) throw new OnefoldError(parsed.code, parsed.message);
  try {
    return parseResult(parsed.text);
  } catch (cause) {
    throw new OnefoldError('body_malformed', 'the body says a key twice', { cause });
  }
}
