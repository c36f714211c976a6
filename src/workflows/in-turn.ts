import type { EventRun } from './event-run.js';

/**
 * Writes the event's entry among those that wait for a person, one writing after the other: each tells how all effects
 * stand when its turn comes, and side by side an older view could overwrite a newer one.
 */
export function inTurn<Result>(run: EventRun, write: () => Promise<Result>): Promise<Result> {
  const turn = run.writing.then(write);
  run.writing = turn.catch(() => {});
  return turn;
}
