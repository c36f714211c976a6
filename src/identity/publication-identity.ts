import { OnefoldError } from '../errors.js';
import { checkTenant } from './check-tenant.js';
import { encodeSegment } from './encode-segment.js';
import { readableOrHashed } from './readable-or-hashed.js';

declare const brand: unique symbol;

/**
 * The publication identity: did we already queue this outbound intent for this endpoint? It is the workflow ID of
 * `deliverPublication`, `publication/<tenant>/<endpoint>/<publication>`.
 */
export type PublicationKey = string & { readonly [brand]: 'PublicationKey' };

/** What a publication key is made of: the intent (`order:42:confirmed:v1`) and the endpoint it goes to. */
export interface PublicationIdentity {
  readonly tenant: string;
  readonly endpoint: string;
  readonly publication: string;
}

/**
 * Makes the publication key; see `eventKey` for the encoding and the hashed form.
 *
 * @throws {OnefoldError} `identity_invalid` for a blank publication or endpoint, or a tenant that is none.
 */
export function publicationKey(identity: PublicationIdentity, digest: (text: string) => string): PublicationKey {
  if (identity.publication.trim() === '') throw new OnefoldError('identity_invalid', 'the publication is blank');
  if (identity.endpoint.trim() === '') throw new OnefoldError('identity_invalid', 'the endpoint is blank');
  const tenant = encodeSegment(checkTenant(identity.tenant));
  const prefix = `publication/${tenant}/${encodeSegment(identity.endpoint)}/`;
  return readableOrHashed(prefix, identity.publication, digest) as PublicationKey;
}
