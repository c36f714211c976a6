import { dropPrototypeKeys } from './drop-prototype-keys.js';
import { exceedsDepth } from './exceeds-depth.js';
import { parseLossless } from './parse-lossless.js';
import { refuse } from './refuse.js';
import type { Refusal } from './source.js';

/** `JSON.stringify` dies near 5,000 levels, and no provider comes near this. */
export const jsonDepthLimit = 256;

/** A body that is JSON. */
export interface ParsedJson {
  readonly ok: true;
  /** The text exactly as sent. */
  readonly text: string;
  /** The text parsed, without the keys that change prototypes; numbers may be rounded. */
  readonly value: unknown;
  /** The text parsed with every number exact, on the first call. */
  lossless(): unknown;
}

// A byte order mark is kept, and so refused by JSON.parse: RFC 8259, section 8.1, forbids senders to add one.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a body, after the verdict over its bytes.
 *
 * @returns a refusal with `body_malformed` for bytes that are not UTF-8 or not JSON, `body_too_deep` for more than
 *   {@link jsonDepthLimit} levels. Its message holds no piece of the body, unlike that of `JSON.parse`.
 */
export function parseJson(bytes: Uint8Array): ParsedJson | Refusal {
  if (exceedsDepth(bytes, jsonDepthLimit)) {
    return refuse('body_too_deep', 'malformed_body', `the JSON is nested deeper than ${jsonDepthLimit} levels`);
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse('body_malformed', 'malformed_body', 'the body is not UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const position = /at position (\d+)/.exec((error as SyntaxError).message)?.[1];
    const where =
      text === '' ? 'is empty' : `is not JSON${position === undefined ? '' : `, from position ${position}`}`;
    return refuse('body_malformed', 'malformed_body', `the body ${where}`);
  }
  // Such a key is rare, and has to be spelt out or be spelt with \u escapes to be one.
  if (/__proto__|"constructor"|\\u/.test(text)) dropPrototypeKeys(value);
  let lossless: unknown;
  return { ok: true, text, value, lossless: () => (lossless ??= parseLossless(text)) };
}
