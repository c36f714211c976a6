import { checkTenant } from '../identity/check-tenant.js';
import { displayEvent, type EventKey, eventKey } from '../identity/event-identity.js';
import { sha256 } from '../runtime/sha256.js';
import type { Source } from '../sources/define-source.js';
import type { Delivery } from './delivery.js';
import type { VerifiedDelivery } from './read-verified.js';

/**
 * Gives a delivery its tenant and its event key.
 *
 * @throws {OnefoldError} `identity_missing`, `identity_invalid`.
 * @throws {TypeError} A defect of the user's: the tenant function returned something other than text.
 */
export function keyDelivery(source: Source, verified: VerifiedDelivery, delivery: Delivery): EventKey {
  const { tenant: declared } = source.settings;
  const tenant: unknown = typeof declared === 'string' ? declared : declared(verified);
  if (typeof tenant !== 'string') throw new TypeError('the tenant function of a source must return a string');
  delivery.tenant = checkTenant(tenant);
  const identity = { tenant: delivery.tenant, source: source.name, id: verified.identified.id };
  const key = eventKey(identity, sha256);
  delivery.event = displayEvent(identity);
  delivery.eventKey = key;
  return key;
}
