import { encodeSegment, utf8Bytes } from './encode-segment.js';

/** The most bytes of a workflow ID of ours; servers on PostgreSQL are reported to hold 255, the rest is room for suffixes. */
export const workflowIdLimitBytes = 200;

/**
 * Ends a workflow ID with the last segment of an identity: readable where the whole stays within
 * {@link workflowIdLimitBytes}, else as `~` and the digest. `~` cannot begin a readable segment, so no text can spell the
 * hashed form of another.
 *
 * @param prefix The encoded segments before it, with the closing `/`.
 * @param digest SHA-256 of a text in hex. Given by the caller, since this folder is free of Node's modules.
 */
export function readableOrHashed(prefix: string, text: string, digest: (text: string) => string): string {
  const readable = prefix + encodeSegment(text);
  return utf8Bytes(readable) <= workflowIdLimitBytes ? readable : `${prefix}~${digest(text)}`;
}
