import { type PublicationKey, publicationKey } from '../../identity/publication-identity.js';
import { sha256 } from '../../runtime/sha256.js';
import type { DeliveryRef } from '../../workflows/delivery-contract.js';

/** A delivery as a person names it. */
export interface DeliveryName {
  /** Default ''. */
  readonly tenant?: string;
  readonly publication: string;
  readonly endpoint: string;
}

/** A delivery with its key, the ID of its workflow. */
export interface NamedDelivery extends DeliveryRef {
  readonly deliveryKey: PublicationKey;
}

/**
 * Checks a delivery's name and makes its key.
 *
 * @throws {OnefoldError} `identity_invalid` for a publication, an endpoint or a tenant that is none.
 */
export function readDeliveryName({ tenant = '', publication, endpoint }: DeliveryName): NamedDelivery {
  const deliveryKey = publicationKey({ tenant, publication, endpoint }, sha256);
  return { tenant, publication, endpoint, deliveryKey };
}
