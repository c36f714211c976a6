import { OnefoldError } from '../errors.js';
import { checkTenant } from './check-tenant.js';
import { encodeSegment, utf8Bytes } from './encode-segment.js';
import { parseWorkflowId, readableOrHashed } from './readable-or-hashed.js';

declare const brand: unique symbol;

/**
 * The event identity: did the receiver already record this event? It is the workflow ID of `processEvent`,
 * `event/<tenant>/<source>/<id>` with percent-encoded segments; the tenant segment is always there and may be empty.
 */
export type EventKey = string & { readonly [brand]: 'EventKey' };

/** What an event key is made of. `tenant` is '' where there is none. */
export interface EventIdentity {
  readonly tenant: string;
  readonly source: string;
  /** The provider's own identity of the event, unchanged. */
  readonly id: string;
}

/**
 * The most bytes of a provider's event id that are taken at all; a longer one is refused, not hashed. No provider known
 * to us comes near it, and an index of PostgreSQL could still hold it.
 */
export const eventIdLimitBytes = 1024;

/**
 * Makes the event key. Equal identities give equal keys, different ones different keys, case kept.
 *
 * @param digest SHA-256 of a text in hex. Given by the caller, since this folder is free of Node's modules.
 * @throws {OnefoldError} `identity_missing` for a blank id, `identity_invalid` for a part that is too long or not text.
 */
export function eventKey(identity: EventIdentity, digest: (text: string) => string): EventKey {
  if (identity.id.trim() === '') throw new OnefoldError('identity_missing', 'the event id is blank');
  if (identity.source === '') throw new OnefoldError('identity_invalid', 'the source of an event is blank');
  if (utf8Bytes(identity.id) > eventIdLimitBytes) {
    throw new OnefoldError('identity_invalid', `the event id is longer than ${eventIdLimitBytes} bytes`);
  }
  const tenant = encodeSegment(checkTenant(identity.tenant));
  if ([identity.source, identity.id].some((part) => part.includes('\0'))) {
    throw new OnefoldError('identity_invalid', 'an identity holds NUL, which no text column of PostgreSQL takes');
  }
  const prefix = `event/${tenant}/${encodeSegment(identity.source)}/`;
  return readableOrHashed(prefix, identity.id, digest) as EventKey;
}

/** The parts of a workflow ID made by {@link eventKey}; `id` is undefined where it is hashed. */
export interface ParsedEventKey {
  readonly tenant: string;
  readonly source: string;
  readonly id: string | undefined;
}

/**
 * Reads a workflow ID back, or says that it is none of ours by returning undefined; so does another spelling of one of
 * ours (`%61` for `a`), which would be a second workflow for one event.
 */
export function parseEventKey(workflowId: string): ParsedEventKey | undefined {
  const parsed = parseWorkflowId('event', workflowId);
  return parsed && { tenant: parsed.tenant, source: parsed.middle, id: parsed.last };
}

/** How people write and read an event: `source/event-id`, both as the provider spells them. */
export function displayEvent(identity: { readonly source: string; readonly id: string }): string {
  return `${identity.source}/${identity.id}`;
}
