import { acceptVerified } from './accept-verified.js';
import { admitRequest } from './admit-request.js';
import type { Delivery, DeliveryEnd } from './delivery.js';
import { keyDelivery } from './key-delivery.js';
import { readVerified } from './read-verified.js';
import type { ReceiveDependencies } from './receive-dependencies.js';
import type { ReceiverRequest } from './receiver-request.js';

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
  const eventKey = keyDelivery(source, verified, delivery);
  // Only what is refused without an event is sampled; a request that waits for an outcome must not hold its bytes.
  delivery.received = undefined;
  const { identified } = verified;
  return acceptVerified(deps, { source, identified, eventKey, signal: request.signal }, delivery);
}
