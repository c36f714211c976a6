import type { EndpointRef } from '../../ledger/endpoints/endpoint-row.js';
import { readEndpoint } from '../../ledger/endpoints/read-endpoint.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { endpointOfRow } from '../../publisher/endpoint-of-row.js';
import { operationFailure } from '../operation-failure.js';
import { checkEndpointRef, unknownEndpoint } from './endpoint-ref.js';
import type { EndpointsDependencies } from './endpoints-dependencies.js';

/**
 * Reads an endpoint of a tenant; a removed one says so by its state.
 *
 * @throws {OnefoldError} `endpoint_unknown`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function getEndpoint(
  { ledger }: Pick<EndpointsDependencies, 'ledger'>,
  ref: EndpointRef,
): Promise<Endpoint> {
  checkEndpointRef(ref);
  try {
    const row = await readEndpoint(ledger.database.query, ledger.schema, ref);
    if (!row) throw unknownEndpoint(ref);
    return endpointOfRow(row);
  } catch (error) {
    throw operationFailure(error);
  }
}
