import { OnefoldError } from '../errors.js';
import { encodeSegment, utf8Bytes } from './encode-segment.js';

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

const publicationKeyLimitBytes = 200;

/**
 * Makes the publication key; see `eventKey` for the encoding and the hashed form.
 *
 * @throws {OnefoldError} `identity_invalid` for a blank publication or endpoint.
 */
export function publicationKey(identity: PublicationIdentity, digest: (text: string) => string): PublicationKey {
  if (identity.publication.trim() === '') throw new OnefoldError('identity_invalid', 'the publication is blank');
  if (identity.endpoint.trim() === '') throw new OnefoldError('identity_invalid', 'the endpoint is blank');
  const prefix = `publication/${encodeSegment(identity.tenant)}/${encodeSegment(identity.endpoint)}/`;
  const readable = prefix + encodeSegment(identity.publication);
  if (utf8Bytes(readable) <= publicationKeyLimitBytes) return readable as PublicationKey;
  return `${prefix}~${digest(identity.publication)}` as PublicationKey;
}
