import { condition, workflowInfo } from '@temporalio/workflow';
import type { EventRun } from './event-run.js';

/**
 * Pauses until a moment, on a durable timer that the Web UI labels with the reason. `retryNow` ends it early; so does
 * the wish to continue as new, which every pause is a safe place for.
 *
 * @param until Unix ms.
 * @param seen The nudges that were heard before: one that came since ends the pause at once. Default: all so far.
 * @returns False when the event is to continue as new instead of going on.
 */
export async function pause(
  run: EventRun,
  effect: string,
  until: number,
  summary: string,
  seen = nudgesOf(run, effect),
): Promise<boolean> {
  if (workflowInfo().continueAsNewSuggested) run.rollingOver = true;
  if (run.rollingOver) return false;
  const remainingMs = until - Date.now();
  if (remainingMs > 0) {
    await condition(() => run.rollingOver || nudgesOf(run, effect) > seen, remainingMs, { summary });
  }
  return !run.rollingOver;
}

/** How often `retryNow` was sent for an effect. */
export function nudgesOf(run: EventRun, effect: string): number {
  return (run.nudges.get('') ?? 0) + (run.nudges.get(effect) ?? 0);
}
