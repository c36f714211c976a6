import type { EffectEnd, PlannedEffect } from './contract.js';
import type { EventRun } from './event-run.js';

/**
 * The ledger's end of a planned effect. The ledger speaks of effects by their present names, and the plan may be older
 * than a renaming: an end under a name that the plan does not have is that of the effect with the same business key.
 */
export function endFor(run: EventRun, ends: readonly EffectEnd[], planned: PlannedEffect): EffectEnd | undefined {
  const names = new Set(run.progress.map((one) => one.planned.effect));
  const own = ends.find(({ effect }) => effect === planned.effect);
  const renamed = ends.find(({ effect, businessKey }) => !names.has(effect) && businessKey === planned.businessKey);
  const end = own ?? renamed;
  return end && { ...end, effect: planned.effect };
}
