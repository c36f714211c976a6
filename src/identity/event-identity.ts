import { OnefoldError } from '../errors.js';
import { decodeSegment, encodeSegment, utf8Bytes } from './encode-segment.js';

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

/** Servers on PostgreSQL are reported to hold 255 bytes of a workflow ID; the rest is room for suffixes. */
export const eventKeyLimitBytes = 200;

/** The most bytes of a provider's event id that are taken at all; a longer one is refused, not hashed. */
export const eventIdLimitBytes = 4096;

/**
 * Makes the event key. Equal identities give equal keys, different ones different keys, case kept.
 *
 * @param digest SHA-256 of a text in hex. Given by the caller, since this folder is free of Node's modules.
 * @param options.hashed Hide the id behind the digest although it would fit; for ids that are sensitive.
 * @throws {OnefoldError} `identity_missing` for a blank id, `identity_invalid` for one that is too long or not text.
 */
export function eventKey(
  identity: EventIdentity,
  digest: (text: string) => string,
  options: { readonly hashed?: boolean } = {},
): EventKey {
  if (identity.id.trim() === '') throw new OnefoldError('identity_missing', 'the event id is blank');
  if (identity.source === '') throw new OnefoldError('identity_invalid', 'the source of an event is blank');
  if (utf8Bytes(identity.id) > eventIdLimitBytes) {
    throw new OnefoldError('identity_invalid', `the event id is longer than ${eventIdLimitBytes} bytes`);
  }
  const prefix = `event/${encodeSegment(identity.tenant)}/${encodeSegment(identity.source)}/`;
  const readable = prefix + encodeSegment(identity.id);
  if (!options.hashed && utf8Bytes(readable) <= eventKeyLimitBytes) return readable as EventKey;
  // `~` cannot begin a readable segment, so no id can spell the hashed form of another.
  return `${prefix}~${digest(identity.id)}` as EventKey;
}

/** The parts of a workflow ID made by {@link eventKey}; `id` is undefined where it is hashed. */
export interface ParsedEventKey {
  readonly tenant: string;
  readonly source: string;
  readonly id: string | undefined;
}

/** Reads a workflow ID back, or says that it is none of ours by returning undefined. */
export function parseEventKey(workflowId: string): ParsedEventKey | undefined {
  const segments = workflowId.split('/');
  const [kind, tenant, source, id] = segments;
  if (segments.length !== 4 || kind !== 'event' || tenant === undefined || !source || !id) return undefined;
  try {
    return {
      tenant: decodeSegment(tenant),
      source: decodeSegment(source),
      id: id.startsWith('~') ? undefined : decodeSegment(id),
    };
  } catch {
    return undefined;
  }
}

/** How people write and read an event: `source/event-id`, both as the provider spells them. */
export function displayEvent(identity: { readonly source: string; readonly id: string }): string {
  return `${identity.source}/${identity.id}`;
}
