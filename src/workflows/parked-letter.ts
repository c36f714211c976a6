import type { RecordDeadLetterArgument } from '../activities/write-dead-letter.js';
import { cutText } from '../identity/cut-text.js';
import type { EffectProgress } from './contract.js';
import { deadLetterOf } from './dead-letter-of.js';
import type { EventRun } from './event-run.js';

/** Of the message, which names every effect that it is about. */
const messageLimit = 1000;

/** However many effects there are, so much is said of each. */
const leastPerEffect = 40;

/**
 * The entry of an event that waits for a person: names every effect that does, and whatever of it has failed meanwhile,
 * which nothing else tells before the event ends.
 *
 * @param parking The effect that parks by being written down with it.
 */
export function parkedLetter(run: EventRun, parking?: EffectProgress): RecordDeadLetterArgument {
  const waiting = run.progress.filter((one) => one.parked || one === parking);
  const failed = run.progress.filter(({ ended }) => ended?.outcome === 'failed');
  const lines = [
    ...waiting.map(
      ({ planned, reasons }) => `${planned.effect}: ${reasons.at(-1)?.message ?? 'its outcome is unknown'}`,
    ),
    ...failed.map(({ planned, ended }) => `${planned.effect} failed: ${ended?.message ?? ended?.code}`),
  ];
  const each = Math.max(leastPerEffect, Math.floor(messageLimit / lines.length) - 2);
  const message = lines.length === 1 ? lines[0] : lines.map((line) => cutText(line, each)).join('; ');
  return deadLetterOf(run, 'effect_parked', message ?? '', parking);
}
