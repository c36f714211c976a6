import { subscribedEffects } from '../effects/catalogue.js';
import type { Effect } from '../effects/effect.js';
import type { Source } from '../sources/define-source.js';
import type { Identified } from '../sources/source.js';

/** What an event is, as the configuration names it, and who acts on it. */
export interface MatchedEvent {
  /** The type as the source's `events` spell it; the provider's own where they do not have it. */
  readonly type: string;
  /** Names of the effects, none where the event is ignored. */
  readonly effects: readonly string[];
}

/**
 * Finds the effects that subscribe to an event. The finer type wins (`issues.opened` before `issues`), unless nobody
 * subscribes to it: an event for which some effect asked is never ignored because of a type that only stands in a list.
 */
export function matchEffects(source: Source, effects: readonly Effect[], identified: Identified): MatchedEvent {
  const { type, action } = identified;
  const candidates = [...(action === undefined ? [] : [`${type}.${action}`]), type].filter((candidate) =>
    Object.hasOwn(source.events, candidate),
  );
  for (const candidate of candidates) {
    const subscribed = subscribedEffects(effects, source.name, candidate);
    if (subscribed.length > 0) return { type: candidate, effects: subscribed.map(({ name }) => name) };
  }
  return { type: candidates[0] ?? type, effects: [] };
}
