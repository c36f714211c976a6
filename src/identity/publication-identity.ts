import { OnefoldError } from '../errors.js';
import { checkTenant } from './check-tenant.js';
import { encodeSegment, utf8Bytes } from './encode-segment.js';
import { parseWorkflowId, readableOrHashed } from './readable-or-hashed.js';

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

/** The most bytes of a publication; an index of PostgreSQL holds it together with tenant and endpoint. */
export const publicationLimitBytes = 512;

/**
 * Makes the publication key; see `eventKey` for the encoding and the hashed form.
 *
 * @throws {OnefoldError} `identity_invalid` for a publication or endpoint that is blank, too long or not text, or a tenant
 * that is none.
 */
export function publicationKey(identity: PublicationIdentity, digest: (text: string) => string): PublicationKey {
  checkPublication(identity.publication);
  checkEndpoint(identity.endpoint);
  const tenant = encodeSegment(checkTenant(identity.tenant));
  const prefix = `publication/${tenant}/${encodeSegment(identity.endpoint)}/`;
  return readableOrHashed(prefix, identity.publication, digest) as PublicationKey;
}

/**
 * Judges what an endpoint is named by.
 *
 * @throws {OnefoldError} `identity_invalid` for anything but non-blank text without NUL, which no column of PostgreSQL holds.
 */
export function checkEndpoint(endpoint: unknown): string {
  if (typeof endpoint !== 'string' || endpoint.trim() === '') {
    throw new OnefoldError('identity_invalid', 'the endpoint is blank, or not text');
  }
  if (endpoint.includes('\0')) throw new OnefoldError('identity_invalid', 'an endpoint holds no NUL');
  return endpoint;
}

/**
 * Judges a publication identity, wherever it comes from.
 *
 * @throws {OnefoldError} `identity_invalid` for anything but non-blank text of at most 512 bytes without NUL.
 */
export function checkPublication(publication: unknown): string {
  if (typeof publication !== 'string' || publication.trim() === '') {
    throw new OnefoldError('identity_invalid', 'the publication is blank, or not text');
  }
  if (publication.includes('\0')) throw new OnefoldError('identity_invalid', 'a publication holds no NUL');
  const bytes = utf8Bytes(publication);
  if (bytes > publicationLimitBytes) {
    throw new OnefoldError(
      'identity_invalid',
      `a publication has at most ${publicationLimitBytes} bytes, and this one has ${bytes}`,
    );
  }
  // Its encoding refuses what UTF-8 cannot carry.
  encodeSegment(publication);
  return publication;
}

/** The parts of a workflow ID made by {@link publicationKey}; `publication` is undefined where it is hashed. */
export interface ParsedPublicationKey {
  readonly tenant: string;
  readonly endpoint: string;
  readonly publication: string | undefined;
}

/** Reads a workflow ID back, or says that it is none of ours, or another spelling of one of ours, by undefined. */
export function parsePublicationKey(workflowId: string): ParsedPublicationKey | undefined {
  const parsed = parseWorkflowId('publication', workflowId);
  return parsed && { tenant: parsed.tenant, endpoint: parsed.middle, publication: parsed.last };
}
