import { randomUUID } from 'node:crypto';
import { type ErrorCode, OnefoldError } from '../errors.js';
import { cutText } from '../identity/cut-text.js';
import { storableText } from '../ledger/storable-text.js';

/** Who acts, and why. */
export interface ActOptions {
  /** Who asks for it; recorded. */
  readonly by: string;
  /** Why; recorded. */
  readonly reason: string;
  /** Identity of this wish: the same id again is the same wish, whose outcome is answered. Default: a new one. */
  readonly id?: string;
}

/** Ids of acts derived from this one have a publication or an endpoint behind it, and stand in an index together. */
const idLimit = 200;
const byLimit = 200;
const reasonLimit = 2_000;

/**
 * Reads who acts, and gives the act an identity where it has none. Longer names and reasons are cut.
 *
 * @param code Of the refusal.
 * @throws {OnefoldError} with that code where one is blank, or the id is no text of at most 200 characters.
 */
export function readActOptions(
  { by, reason, id }: ActOptions,
  code: ErrorCode = 'replay_refused',
): Required<ActOptions> {
  if (by.trim() === '' || reason.trim() === '' || id?.trim() === '') {
    throw new OnefoldError(code, 'an act needs who asks for it, a reason, and an id that is not blank');
  }
  if (id !== undefined && (id.length > idLimit || id.includes('\0') || cutText(id, idLimit) !== id)) {
    throw new OnefoldError(code, `the id of an act is text of at most ${idLimit} characters`);
  }
  return {
    by: storableText(cutText(by, byLimit)),
    reason: storableText(cutText(reason, reasonLimit)),
    id: id ?? randomUUID(),
  };
}
