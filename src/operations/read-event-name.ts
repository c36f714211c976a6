import { OnefoldError } from '../errors.js';
import { type EventKey, eventKey, parseEventKey } from '../identity/event-identity.js';
import { sha256 } from '../runtime/sha256.js';

/** An event as a person names it. */
export interface NamedEvent {
  readonly tenant: string;
  readonly source: string;
  readonly id: string;
  readonly eventKey: EventKey;
}

/**
 * Reads `source/event-id`; the id is everything after the first slash, as the provider spells it. A whole workflow ID,
 * as copied from the Web UI, is understood too.
 *
 * @throws {OnefoldError} `identity_invalid` for anything else.
 */
export function readEventName(name: string, tenant = ''): NamedEvent {
  const parsed = parseEventKey(name);
  if (parsed) {
    const hashed = name.slice(name.lastIndexOf('/') + 1);
    return { tenant: parsed.tenant, source: parsed.source, id: parsed.id ?? hashed, eventKey: name as EventKey };
  }
  const slash = name.indexOf('/');
  if (slash < 1 || slash === name.length - 1) {
    throw new OnefoldError('identity_invalid', `expected an event as source/event-id, got ${JSON.stringify(name)}`);
  }
  const source = name.slice(0, slash);
  const id = name.slice(slash + 1);
  return { tenant, source, id, eventKey: eventKey({ tenant, source, id }, sha256) };
}
