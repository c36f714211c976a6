import { OnefoldError } from '../errors.js';
import type { Source } from '../sources/define-source.js';
import type { Effect } from './effect.js';

/** The sources and effects of one configuration, found by name. */
export interface Catalogue {
  readonly sources: readonly Source[];
  readonly effects: readonly Effect[];
  source(name: string): Source | undefined;
  /** By its name, or by one it had formerly. */
  effect(name: string): Effect | undefined;
}

/**
 * Joins sources and effects, and refuses what could not work.
 *
 * @throws {OnefoldError} `config_invalid` for a name given twice, or an effect of a source that is not listed.
 */
export function createCatalogue(sources: readonly Source[], effects: readonly Effect[]): Catalogue {
  const sourcesByName = new Map<string, Source>();
  for (const source of sources) {
    if (sourcesByName.has(source.name)) {
      throw new OnefoldError('config_invalid', `sources: two sources are named '${source.name}'`);
    }
    sourcesByName.set(source.name, source);
  }
  const effectsByName = new Map<string, Effect>();
  for (const effect of effects) {
    if (!sourcesByName.has(effect.source)) {
      throw new OnefoldError(
        'config_invalid',
        `effect '${effect.name}' belongs to source '${effect.source}', which is not among the sources`,
      );
    }
    for (const name of [effect.name, ...effect.formerly]) {
      if (effectsByName.has(name)) {
        throw new OnefoldError('config_invalid', `effects: two effects are, or were formerly, named '${name}'`);
      }
      effectsByName.set(name, effect);
    }
  }
  return Object.freeze({
    sources: Object.freeze([...sources]),
    effects: Object.freeze([...effects]),
    source: (name: string) => sourcesByName.get(name),
    effect: (name: string) => effectsByName.get(name),
  });
}

/**
 * The name under which the ledger claims an effect: its oldest. A renamed effect so finds its own completions, and old and
 * new workers side by side claim the same row.
 */
export function ledgerName(effect: Effect): string {
  return effect.formerly[0] ?? effect.name;
}

/**
 * Every name under which the ledger may hold completions of an effect, its {@link ledgerName} first: what was done under
 * the new name before `formerly` was declared is done too.
 */
export function ledgerNames(effect: Effect): readonly string[] {
  return [...effect.formerly, effect.name];
}

/** The effect of that name (or former name) where this configuration runs it for the type; else a worker of another deploy does. */
export function effectFor(
  catalogue: Catalogue,
  name: string,
  event: { readonly source: string; readonly type: string },
): Effect | undefined {
  const effect = catalogue.effect(name);
  return effect && subscribedEffects([effect], event.source, event.type)[0];
}

/** The effects that act on a type of a source, in the order of the configuration. */
export function subscribedEffects(effects: readonly Effect[], source: string, type: string): readonly Effect[] {
  return effects.filter((effect) => effect.source === source && effect.on.includes(type));
}
