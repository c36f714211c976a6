import { lookAtEndpoint as look } from '../ledger/sends/look-at-endpoint.js';
import { deliveryPolicy } from '../publisher/delivery-policy.js';
import type { DeliveryRef, EndpointLook } from '../workflows/delivery-contract.js';
import type { DeliveryDependencies } from './delivery-activities.js';

/** Makes the activity that reads how an endpoint stands, for a delivery that waits for its next attempt. */
export function createLookAtEndpoint(deps: Pick<DeliveryDependencies, 'ledger'>) {
  return async function lookAtEndpoint(ref: DeliveryRef): Promise<EndpointLook> {
    const { database, schema } = deps.ledger;
    const found = await look(database.query, schema, ref);
    // Its next attempt will say what is missing.
    if (!found) return { state: 'enabled' };
    return { state: found.state, policy: deliveryPolicy(found.policy) };
  };
}
