import { declaredBy, type Effect } from '../effects/effect.js';
import type { Source } from '../sources/define-source.js';

/**
 * The source that declared an effect.
 *
 * @throws {TypeError} For what `source.effect` or `source.externalEffect` did not make.
 */
export function sourceOf(effect: Effect): Source {
  const declaration = (effect as Effect | undefined)?.[declaredBy];
  if (declaration) return declaration.source;
  throw new TypeError('expected an effect as source.effect(…) or source.externalEffect(…) returns it');
}
