import type { EffectEnd, PlannedEffect } from './contract.js';
import type { EventRun } from './event-run.js';
import { saidOf } from './said-of.js';

/** The ledger's end of a planned effect, under the name that it was planned by. */
export function endFor(run: EventRun, ends: readonly EffectEnd[], planned: PlannedEffect): EffectEnd | undefined {
  const end = saidOf(run, ends, planned);
  return end && { ...end, effect: planned.effect };
}
