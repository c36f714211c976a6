import { displayEvent, type EventKey } from '../identity/event-identity.js';
import { within } from '../runtime/within.js';
import type { Source } from '../sources/define-source.js';
import type { ProcessEventInput } from '../workflows/contract.js';
import { DeliveryRefused } from './delivery-refused.js';
import type { AcceptDependencies } from './receive-dependencies.js';
import { decideStart, type StartDecision } from './start-decision.js';
import { startRefusal } from './start-refusal.js';

/**
 * From the decision's begin to its end, ms, so that every answer comes within 2 seconds: the retries inside the client
 * may overshoot the deadline by their last pause of 0.4 s.
 */
export const startDeadlineMs = 1_400;
const startOvershootMs = 450;

/**
 * Lets Temporal decide what a delivery is to its event, in bounded time. A start that timed out may have succeeded; the
 * redelivery then finds it, which does no harm.
 *
 * @throws {DeliveryRefused} `temporal_unavailable`, `start_refused`, `body_too_large`.
 */
export async function recordEvent(
  { client, taskQueue, attributes, log }: AcceptDependencies,
  source: Source,
  eventKey: EventKey,
  input: ProcessEventInput,
): Promise<StartDecision> {
  const deadline = Date.now() + startDeadlineMs;
  const start = {
    eventKey,
    event: displayEvent(input),
    input,
    taskQueue,
    registered: await attributes.current(),
    refuseOtherBody: source.settings.refuseOtherBody,
  };
  try {
    return await within(
      deadline - Date.now() + startOvershootMs,
      client.withDeadline(deadline, () => decideStart(client, start)),
      () => new DeliveryRefused('temporal_unavailable', 'Temporal did not answer in time', { reason: 'deadline' }),
    );
  } catch (error) {
    const refusal = error instanceof DeliveryRefused ? error : startRefusal(error);
    if (!refusal) throw error;
    if (refusal.code === 'start_refused') {
      // Every event of the source meets it, and no redelivery mends it: an operator has to be told.
      log.error({ eventKey, source: source.name, reason: refusal.message }, 'webhook.start_refused');
      attributes.distrust();
    }
    throw refusal;
  }
}
