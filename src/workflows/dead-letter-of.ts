import type { RecordDeadLetterArgument } from '../activities/write-dead-letter.js';
import { cutText } from '../identity/cut-text.js';
import type { AttemptReason, EffectProgress } from './contract.js';
import { type EventRun, eventRef } from './event-run.js';

/**
 * What a dead letter says of an event as it stands: each effect with the reason of every attempt.
 *
 * @param parking The effect that parks by being written down with it.
 */
export function deadLetterOf(
  run: EventRun,
  code: string,
  message: string,
  parking?: EffectProgress,
): RecordDeadLetterArgument {
  const { carried: _carried, ...input } = run.input;
  const effects = run.plan
    ? run.progress.map((one) => ({
        effect: one.planned.effect,
        businessKey: one.planned.businessKey,
        outcome: one.ended?.outcome ?? (one.parked || one === parking ? 'parked' : 'open'),
        attempts: one.attempts,
        reasons: reasonsThatFit(one.reasons, run.progress.length),
      }))
    : [{ step: 'plan', effects: input.effects, attempts: run.planning.attempts, reasons: run.planning.reasons }];
  return {
    event: eventRef(run),
    runId: run.runId,
    code,
    message: cutText(message, 1000),
    input: JSON.stringify({ ...input, payload: { stored: true } }),
    effects: JSON.stringify(effects),
    ...(!run.plan && 'text' in input.payload ? { text: input.payload.text } : {}),
  };
}

/** Reasons of all effects together; the activity's argument may not exceed 2 MiB, and the history has them all. */
const reasonsKept = 200;

function reasonsThatFit(reasons: readonly AttemptReason[], effects: number): readonly AttemptReason[] {
  return reasons.slice(-Math.max(1, Math.floor(reasonsKept / effects)));
}
