import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errorCodes } from '../errors.js';

/** The content type of a problem document. */
export const problemContentType = 'application/problem+json';

/**
 * Writes a problem document by RFC 9457 with our stable code. A 4xx says what was wrong with the request; a 5xx only what
 * the table of codes says, since its message may name hosts.
 *
 * @param detail What was expected and what came; without it, and for every 5xx, the table's cause and remedy.
 * @param members Further members.
 */
export function problemDocument(
  status: number,
  code: ErrorCode,
  detail: string | undefined,
  members: Readonly<Record<string, unknown>> = {},
): string {
  const { cause, remedy } = errorCodes[code];
  return JSON.stringify({
    // RFC 9457, 4.2.1: the code, not the type, tells problems apart, and the title is the status's.
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    code,
    detail: status < 500 && detail !== undefined ? detail : `${cause} ${remedy}`,
    ...members,
  });
}
