import { type Catalogue, ledgerNames } from '../../effects/catalogue.js';
import { OnefoldError } from '../../errors.js';
import { type EventState, eventStates } from '../../ledger/events/event-selection.js';
import type { ReplaySelection } from '../../ledger/replay-sets/replay-selection.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { unknownEffect } from '../added-effect.js';
import { readFilter } from '../read-filter.js';

/** Which events are replayed. At least one has to be given. */
export interface ReplayFilter {
  /** Default ''. */
  readonly tenant?: string;
  readonly source?: string;
  /** The exact type. */
  readonly type?: string;
  /** Default `dead_lettered`; of an effect that was added, `done` and `ignored`. */
  readonly state?: EventState;
  /** The exact key of one of its effects. */
  readonly businessKey?: string;
  /** Of its open dead letter. */
  readonly code?: string;
  /** Received at or after. */
  readonly since?: Date;
  /** Received before. */
  readonly until?: Date;
}

const known: readonly (keyof ReplayFilter)[] = [
  'tenant',
  'source',
  'type',
  'state',
  'businessKey',
  'code',
  'since',
  'until',
];

/** Of events in these states that lack an effect, it alone can be run. */
const lackingStates: readonly EventState[] = ['done', 'ignored'];

/** What a filter means. */
export interface ReadReplayFilter {
  readonly selection: ReplaySelection;
  /** Only this effect is run, by its present name. */
  readonly effect?: string;
  /** JSON, for people. */
  readonly filter: string;
}

/** Whether a filter restricts anything. */
export function isEmptyFilter(filter: ReplayFilter): boolean {
  return Object.entries(filter).every(([name, value]) => value === undefined || (name === 'tenant' && value === ''));
}

/**
 * Reads which events a replay of many is about.
 *
 * @param effectName Only this effect is to be run, for events that are done without it.
 * @throws {OnefoldError} `filter_missing` where nothing is restricted; `request_invalid` naming the filter,
 * `identity_invalid`, `config_invalid` for an unknown filter, `effect_unknown`.
 */
export function readReplayFilter(
  catalogue: Catalogue,
  given: ReplayFilter,
  effectName: string | undefined,
): ReadReplayFilter {
  refuseUnknownOptions(given, known, 'filter of a replay');
  if (isEmptyFilter(given)) {
    throw new OnefoldError(
      'filter_missing',
      'say which events: by source, type, state, business key, code, tenant, since or until',
    );
  }
  const { tenant, ...restricting } = given;
  const states = effectName === undefined ? eventStates : lackingStates;
  const { state, ...rest } = readFilter(tenant === undefined ? {} : { tenant }, restricting, states);
  const selection = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const filter = JSON.stringify({
    ...given,
    ...(state === undefined && !effectName ? { state: 'dead_lettered' } : {}),
  });
  if (effectName === undefined) {
    return { selection: { ...(selection as typeof rest), state: state ?? 'dead_lettered' }, filter };
  }
  const effect = catalogue.effect(effectName);
  if (!effect) throw unknownEffect(catalogue, effectName);
  const lacking = { names: ledgerNames(effect), source: effect.source, types: effect.on };
  return {
    selection: { ...(selection as typeof rest), ...(state === undefined ? {} : { state }), lacking },
    effect: effect.name,
    filter,
  };
}
