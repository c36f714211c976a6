import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { cutText } from '../../identity/cut-text.js';
import type { EndpointRef } from '../../ledger/endpoints/endpoint-row.js';
import { storableText } from '../../ledger/storable-text.js';

/**
 * Judges what an endpoint is named by, before PostgreSQL is asked for it.
 *
 * @throws {OnefoldError} `identity_invalid` for a tenant that is none; `endpoint_unknown` for what no id can be.
 */
export function checkEndpointRef({ tenant, id }: EndpointRef): EndpointRef {
  checkTenant(tenant);
  // No text column of PostgreSQL holds NUL.
  if (typeof id !== 'string' || id.includes('\0')) throw unknownEndpoint({ tenant, id: String(id) });
  return { tenant, id };
}

/** The same answer for an endpoint of another tenant, so that nobody learns of it. */
export function unknownEndpoint({ tenant, id }: EndpointRef): OnefoldError {
  const whose = tenant === '' ? 'there is' : `the tenant '${tenant}' has`;
  return new OnefoldError('endpoint_unknown', `${whose} no endpoint '${cutText(storableText(id), 64)}'`);
}
