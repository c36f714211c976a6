import { admitRequest } from './admit-request.js';
import { checkPayload } from './check-payload.js';
import type { Delivery, DeliveryEnd } from './delivery.js';
import { DeliveryRefused } from './delivery-refused.js';
import { endDelivery } from './end-delivery.js';
import { keyDelivery } from './key-delivery.js';
import { matchEffects } from './match-effects.js';
import { readVerified } from './read-verified.js';
import type { ReceiveDependencies } from './receive-dependencies.js';
import type { ReceiverRequest } from './receiver-request.js';
import { recordEvent } from './record-event.js';

/**
 * Takes one delivery from its request to how it ends, and fills in what it learns, so that a refusal at any step is
 * answered and evidenced with what was known by then.
 *
 * The order is part of the contract: no body is read before the cheap refusals, nothing is parsed before the signature
 * is judged, and nothing is answered with success before Temporal holds the event.
 *
 * @throws {OnefoldError} With a code of the answer table; anything else is a defect.
 */
export async function receiveDelivery(
  deps: ReceiveDependencies,
  request: ReceiverRequest,
  delivery: Delivery,
): Promise<DeliveryEnd> {
  const admitted = admitRequest(deps, request, delivery);
  const { source } = admitted;
  const verified = await readVerified(deps, admitted, request, delivery);
  const { identified } = verified;
  const eventKey = keyDelivery(source, verified, delivery);

  const { type, effects } = matchEffects(source, deps.effects, identified);
  delivery.type = type;
  if (effects.length === 0) {
    // No workflow: one without effects would record the event as done, and a later deployment could never run it.
    delivery.path = 'ignored';
    return { answer: 'ignored' };
  }
  const { backlogLimitMs, refuseOtherBody } = source.settings;
  if (backlogLimitMs !== undefined && deps.backlog.oldestMs() > backlogLimitMs) {
    throw new DeliveryRefused('backlog_full', 'the oldest waiting event is older than the backlog limit');
  }

  const { tenant, receivedAt } = delivery;
  const digest = delivery.digest as string;
  const payload = await checkPayload(deps.ledger, { tenant, eventKey, digest }, identified.json);
  const decision = await recordEvent(deps, source, eventKey, {
    version: 1,
    tenant,
    source: source.name,
    id: identified.id,
    type,
    digest,
    receivedAt: receivedAt.toISOString(),
    ...(identified.occurredAt === undefined ? {} : { occurredAt: identified.occurredAt }),
    payload,
    effects,
  });
  delivery.bodyDiffers = decision.bodyDiffers;
  const refused = decision.bodyDiffers && refuseOtherBody && !decision.started;
  // What failed with another body was not started again, so no path names what happened here.
  if (!refused || decision.path !== 'retry_after_failure') delivery.path = decision.path;
  if (refused) throw new DeliveryRefused('body_differs', 'this event identity is known with another body');
  return endDelivery(deps, source, eventKey, delivery, decision, request.signal);
}
