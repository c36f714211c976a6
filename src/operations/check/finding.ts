/**
 * Everything that `onefold check` may find, under a stable name. A `problem` means that some work would have no end, or
 * that what the configuration says does not hold; a `warning` means that somebody should know. `docs/check.md` lists them.
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
  effect_forgotten: {
    level: 'warning',
    means: 'The ledger remembers an effect that the configuration does not have; nothing of it is under way.',
  },
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
} as const satisfies Record<string, { readonly level: 'problem' | 'warning'; readonly means: string }>;

/** A stable name of what was found; see {@link findingKinds}. */
export type FindingId = keyof typeof findingKinds;

/** One thing that was found. */
export interface Finding {
  readonly id: FindingId;
  readonly level: 'problem' | 'warning';
  /** What it is about: `effect 'charge-card'`, `source 'shop'`, `namespace 'default'`, `ledger "onefold"`. */
  readonly place: string;
  readonly message: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** Makes a finding; its level is that of its kind. */
export function finding(id: FindingId, found: Pick<Finding, 'place' | 'message' | 'remedy'>): Finding {
  return { id, level: findingKinds[id].level, ...found };
}
