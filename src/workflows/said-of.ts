import type { PlannedEffect } from './contract.js';
import type { EventRun } from './event-run.js';

/**
 * Of what the ledger says about an event's effects, that about a planned one. The ledger speaks of effects by their present
 * names, and the plan may be older than a renaming: what is said under a name that the plan does not have is about the
 * effect with the same business key.
 */
export function saidOf<Said extends { readonly effect: string; readonly businessKey?: string }>(
  run: EventRun,
  said: readonly Said[],
  planned: PlannedEffect,
): Said | undefined {
  const names = new Set(run.progress.map((one) => one.planned.effect));
  return (
    said.find(({ effect }) => effect === planned.effect) ??
    said.find(({ effect, businessKey }) => !names.has(effect) && businessKey === planned.businessKey)
  );
}
