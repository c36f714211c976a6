import { encodeSegment } from '../identity/encode-segment.js';
import { displayEvent, type EventKey, eventKey } from '../identity/event-identity.js';
import { sha256 } from '../runtime/sha256.js';
import type { Source } from '../sources/define-source.js';
import type { Delivery } from './delivery.js';
import { DeliveryRefused } from './delivery-refused.js';
import type { VerifiedDelivery } from './read-verified.js';

/** Workflow IDs hold 255 bytes on PostgreSQL-backed servers, and source and id need the rest. */
const tenantSegmentBytes = 100;

/**
 * Gives a delivery its tenant and its event key.
 *
 * @throws {OnefoldError} `identity_missing`, `identity_invalid`.
 */
export function keyDelivery(source: Source, verified: VerifiedDelivery, delivery: Delivery): EventKey {
  const { tenant } = source.settings;
  delivery.tenant = checkTenant(typeof tenant === 'string' ? tenant : tenant(verified));
  const identity = { tenant: delivery.tenant, source: source.name, id: verified.identified.id };
  const key = eventKey(identity, sha256);
  delivery.event = displayEvent(identity);
  delivery.eventKey = key;
  return key;
}

function checkTenant(tenant: unknown): string {
  if (typeof tenant !== 'string') throw new TypeError('the tenant function of a source must return a string');
  if (tenant === '') return tenant;
  // NUL could be percent-encoded into the key, but no text column of PostgreSQL holds it.
  if (tenant.trim() === '' || tenant.includes('\0') || encodeSegment(tenant).length > tenantSegmentBytes) {
    throw new DeliveryRefused(
      'identity_invalid',
      `a tenant is non-blank text of at most ${tenantSegmentBytes} bytes, percent-encoded`,
    );
  }
  return tenant;
}
