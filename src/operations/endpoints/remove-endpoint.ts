import type { EndpointRef } from '../../ledger/endpoints/endpoint-row.js';
import { removeEndpointRow } from '../../ledger/endpoints/remove-endpoint-row.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { changeEndpoint, readAct } from './change-endpoint.js';
import type { EndpointAct, EndpointsDependencies } from './endpoints-dependencies.js';

/**
 * Removes an endpoint for good: its secrets and headers are deleted, it is sent nothing more, and deliveries that wait for
 * it end as dead letters (`endpoint_removed`). What was sent to it stays on record.
 *
 * @throws {OnefoldError} `endpoint_unknown`, `endpoint_removed` where it is already, `endpoint_invalid`,
 * `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function removeEndpoint(
  deps: Pick<EndpointsDependencies, 'ledger' | 'log'>,
  ref: EndpointRef,
  act: EndpointAct = {},
): Promise<Endpoint> {
  return changeEndpoint(deps, ref, act, {
    event: 'endpoint.removed',
    change: (sql) => removeEndpointRow(sql, deps.ledger.schema, ref, readAct(act).reason ?? null),
  });
}
