import { displayEvent } from '../identity/event-identity.js';
import type { AttemptStep } from './attempt-steps.js';
import type { ExternalAttempt } from './external-attempt.js';

/** Tells whoever listens that the attempt is at a step, and waits for them. @throws {AttemptVanished} */
export async function atStep(attempt: ExternalAttempt, step: AttemptStep): Promise<void> {
  const { effect, businessKey, eventKey, event, onStep } = attempt;
  await onStep?.(step, {
    effect: effect.name,
    businessKey,
    eventKey,
    event: displayEvent(event),
    attempt: attempt.attempt,
  });
}
