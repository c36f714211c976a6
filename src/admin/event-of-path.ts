import { OnefoldError } from '../errors.js';
import { displayEvent, eventKey, parseEventKey } from '../identity/event-identity.js';
import { sha256 } from '../runtime/sha256.js';
import type { AdminRequest } from './admin-request.js';

/**
 * Names the event of a path as operations take it, always one of the request's own tenant: operations understand a workflow
 * ID too, which carries a tenant of its own, and a source `event` with an id of that form spells one.
 *
 * @throws {OnefoldError} `identity_invalid`, also for a source with a slash, which would name another event;
 * `identity_missing` for a blank id.
 */
export function eventOfPath({ tenant, path }: Pick<AdminRequest, 'tenant' | 'path'>): string {
  const source = path.text('source');
  const id = path.text('id');
  if (source.includes('/')) throw new OnefoldError('identity_invalid', 'path: a source has no slash');
  const key = eventKey({ tenant, source, id }, sha256);
  const name = displayEvent({ source, id });
  return parseEventKey(name) ? key : name;
}
