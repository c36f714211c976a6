import { dataDigest } from '../effects/data-digest.js';
import type { NewPublication } from '../ledger/publications/insert-publications.js';
import { defaultEventId } from './build-publication.js';
import { candidatePatterns } from './type-pattern.js';

/** What an owner is told about an endpoint. */
export interface EndpointEvent {
  readonly type: 'endpoint.failing' | 'endpoint.disabled' | 'endpoint.recovered';
  readonly tenant: string;
  readonly endpoint: string;
  /** What sets it apart from all others of its type about this endpoint. */
  readonly occasion: string;
  readonly at: Date;
  /** Beside the endpoint's id. No URL: it may hold a credential of its owner's. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Makes the messages about an endpoint: one for the endpoints of its tenant, and, where it has one, another for those of no
 * tenant, which belong to whoever operates the application. Each occasion has its own publication identity, so it is told
 * once, whoever notices it and however often. The endpoint itself is not told.
 */
export function endpointEvent({ type, tenant, endpoint, occasion, at, data }: EndpointEvent): NewPublication[] {
  const publication = `endpoint:${endpoint}:${type.slice('endpoint.'.length)}:${occasion}`;
  const message = { endpoint, ...(tenant === '' ? {} : { tenant }), ...data };
  const body = JSON.stringify({ type, timestamp: at.toISOString(), data: message });
  // Those of no tenant first, everywhere: two transactions that write both then wait for each other, and do not deadlock.
  return [...new Set(['', tenant])].map((reader) => {
    const eventId = defaultEventId(reader, publication);
    return {
      tenant: reader,
      publication,
      eventId,
      type,
      digest: dataDigest({ type, data: message, eventId, retried: true }),
      body,
      retried: true,
      pausesMs: null,
      elapsedMs: null,
      cause: null,
      patterns: candidatePatterns(type),
      except: [endpoint],
    };
  });
}
