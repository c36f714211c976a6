import type { FoundBusinessKey } from '../../ledger/trace/find-business-keys.js';
import type { FoundEvent } from '../../ledger/trace/find-events.js';
import type { FoundPublication } from '../../ledger/trace/find-publications.js';
import type { TracedKey } from '../../ledger/trace/traced-key.js';
import type { TraceChoice, TracedKind } from './trace.js';

/** One thing that a name may mean, with the events that it leads to. */
export interface Match extends TraceChoice {
  readonly events: readonly TracedKey[];
  /** Of a publication. */
  readonly publication?: string;
  /** Of a business identity. */
  readonly businessKey?: string;
}

/** An event as a match. */
export function eventMatch({ tenant, eventKey, source, id, state, receivedAt }: FoundEvent): Match {
  return {
    kind: 'event',
    tenant,
    name: `${source}/${id}`,
    state,
    at: receivedAt,
    events: [{ tenant, key: eventKey }],
  };
}

/** A publication as a match. */
export function publicationMatch({ tenant, publication, publishedAt }: FoundPublication): Match {
  return { kind: 'publication', tenant, name: publication, at: publishedAt, publication, events: [] };
}

/** Joins what was found of business identities: one match for each, with all of its events. */
export function businessKeyMatches(found: readonly FoundBusinessKey[]): readonly Match[] {
  const matches = new Map<string, Match & { readonly events: TracedKey[] }>();
  for (const { tenant, effect, businessKey, eventKey } of found) {
    const identity = JSON.stringify([tenant, effect, businessKey]);
    const match = matches.get(identity) ?? {
      kind: 'business_key' as TracedKind,
      tenant,
      name: businessKey,
      effect,
      businessKey,
      events: [],
    };
    if (!match.events.some(({ key }) => key === eventKey)) match.events.push({ tenant, key: eventKey });
    matches.set(identity, match);
  }
  return [...matches.values()];
}

/**
 * Leaves out what leads to the same as another: many applications take an order's number for the event id and for the
 * business keys of all its effects, and whoever asks for it means all of that. Of an event and a business key the event is
 * kept, since it tells of its other effects too.
 */
export function distinctMatches(matches: readonly Match[]): readonly Match[] {
  const kept = new Map<string, Match>();
  const rank = { event: 0, business_key: 1, publication: 2 } as const;
  for (const match of matches.toSorted((one, other) => rank[one.kind] - rank[other.kind])) {
    const { kind, tenant, publication, events, effect, businessKey } = match;
    const keys = events.map(({ key }) => key).sort();
    const same =
      kind === 'publication'
        ? [kind, tenant, publication]
        : keys.length > 0
          ? [tenant, ...keys]
          : [kind, tenant, effect, businessKey];
    const identity = JSON.stringify(same);
    if (!kept.has(identity)) kept.set(identity, match);
  }
  return [...kept.values()];
}
