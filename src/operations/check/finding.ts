/**
 * Everything that `onefold check` may find, under a stable name. A `problem` means that some work would have no end, or
 * that what the configuration says does not hold; a `warning` means that somebody should know; a `note` that all may be
 * well. `docs/check.md` lists them.
 */
export const findingKinds = {
  recovery_missing: {
    level: 'problem',
    means: 'An external effect does not say what finishes the work when an outcome is unknown.',
  },
  key_outlived: {
    level: 'problem',
    means: 'The attempts go on for longer than the recipient remembers the key, and it cannot be asked then.',
  },
  lease_too_short: { level: 'problem', means: 'A lease can run out under a living attempt.' },
  lease_within_grace: {
    level: 'problem',
    means: 'A stopping worker lets an attempt run on for longer than its lease; the worker would refuse to start.',
  },
  settle_exceeds_provider: {
    level: 'problem',
    means: 'A source answers with the outcome only after its provider has hung up.',
  },
  config_invalid: {
    level: 'problem',
    means: 'The configuration refuses to be loaded, or the settings of a server are wrong, or it refuses this caller.',
  },
  config_missing: { level: 'problem', means: 'A server is not configured.' },
  temporal_unavailable: { level: 'problem', means: 'Temporal cannot be reached.' },
  ledger_unavailable: { level: 'problem', means: 'PostgreSQL cannot be reached.' },
  migration_missing: { level: 'problem', means: 'The ledger is not there, or older than this version needs.' },
  retention_below_sweep: {
    level: 'problem',
    means: 'Temporal may forget an event that was closed from outside before the sweeper has seen it.',
  },
  effect_unfinished: {
    level: 'problem',
    means: 'The ledger holds unfinished work of an effect that the configuration does not have.',
  },
  secrets_keys_missing: {
    level: 'problem',
    means: 'The ledger has endpoints, and no key is configured that opens their secrets.',
  },
  secrets_keys_invalid: { level: 'problem', means: 'The keys that seal the secrets of endpoints are malformed.' },
  secrets_unreadable: {
    level: 'problem',
    means: 'Secrets or headers of endpoints are sealed with a key that is not configured, or is another one here.',
  },
  relay_missing: { level: 'problem', means: 'Deliveries have been queued for more than a minute: no relay runs.' },
  deliveries_unfinished: {
    level: 'problem',
    means: 'The ledger holds deliveries under way, and the configuration publishes nothing.',
  },
  effect_forgotten: {
    level: 'warning',
    means: 'The ledger remembers an effect that the configuration does not have; nothing of it is under way.',
  },
  effect_observes: { level: 'warning', means: 'An effect only looks: its events are planned, and it does nothing.' },
  single_attempt: { level: 'warning', means: 'A worker that dies may spend the only attempt of an effect.' },
  settle_close_to_provider: {
    level: 'warning',
    means: 'An answer at the deadline of a source may reach its provider too late.',
  },
  identity_unguarded: {
    level: 'warning',
    means: 'The event identity lies outside the signature, and another body under it is not refused.',
  },
  source_without_effects: { level: 'warning', means: 'No effect subscribes to a source: it ignores everything.' },
  retention_below_redelivery: {
    level: 'warning',
    means: 'Temporal forgets an event while its provider may still deliver it again; the ledger still knows it.',
  },
  search_attributes_missing: {
    level: 'warning',
    means: 'Search attributes are not registered, or Temporal does not tell: lists cannot be filtered by them.',
  },
  relay_behind: {
    level: 'warning',
    means: 'Deliveries have been queued for more than a minute although relays are at work.',
  },
  endpoints_disabled: {
    level: 'warning',
    means: 'Endpoints are disabled: what is published for them is held until its budget ends.',
  },
  endpoints_failing: { level: 'warning', means: 'Every attempt at an endpoint has failed for an hour or longer.' },
  endpoint_without_types: {
    level: 'warning',
    means: 'An endpoint subscribes to no type of the catalogue: it gets nothing.',
  },
  schedule_exceeds_elapsed: {
    level: 'warning',
    means: 'A schedule has pauses beyond the elapsed time: its last attempts are never made.',
  },
  egress_allowed_in_production: {
    level: 'warning',
    means: 'Destinations that are not public are allowed where `NODE_ENV` is `production`.',
  },
  type_without_endpoints: {
    level: 'note',
    means: 'No endpoint subscribes to a type of the catalogue: such messages are sent to nobody.',
  },
} as const satisfies Record<string, { readonly level: FindingLevel; readonly means: string }>;

/** How much a finding matters. */
export type FindingLevel = 'problem' | 'warning' | 'note';

/** A stable name of what was found; see {@link findingKinds}. */
export type FindingId = keyof typeof findingKinds;

/** One thing that was found. */
export interface Finding {
  readonly id: FindingId;
  readonly level: FindingLevel;
  /** What it is about: `effect 'charge-card'`, `source 'shop'`, `namespace 'default'`, `ledger "onefold"`, `endpoints`. */
  readonly place: string;
  readonly message: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** Makes a finding; its level is that of its kind. */
export function finding(id: FindingId, found: Pick<Finding, 'place' | 'message' | 'remedy'>): Finding {
  return { id, level: findingKinds[id].level, ...found };
}
