import { decodeSegment, encodeSegment, utf8Bytes } from './encode-segment.js';

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

/** A SHA-256 in hex behind the mark that no readable segment begins with. */
const hashedSegment = /^~[0-9a-f]{64}$/;

/** The parts of a workflow ID of ours; `last` is undefined where it is hashed. */
export interface ParsedWorkflowId {
  readonly tenant: string;
  readonly middle: string;
  readonly last: string | undefined;
}

/**
 * Reads `<kind>/<tenant>/<middle>/<last>` back, or says that it is none of ours by returning undefined; so does another
 * spelling of one of ours (`%61` for `a`), which would be a second workflow for one identity.
 */
export function parseWorkflowId(kind: string, workflowId: string): ParsedWorkflowId | undefined {
  const [first, tenant, middle, last, ...more] = workflowId.split('/');
  if (first !== kind || tenant === undefined || !middle || !last || more.length > 0) return undefined;
  try {
    const parsed = { tenant: decodeSegment(tenant), middle: decodeSegment(middle) };
    const readable = hashedSegment.test(last) ? undefined : decodeSegment(last);
    const same =
      encodeSegment(parsed.tenant) === tenant &&
      encodeSegment(parsed.middle) === middle &&
      (readable === undefined || encodeSegment(readable) === last);
    return same ? { ...parsed, last: readable } : undefined;
  } catch {
    return undefined;
  }
}
