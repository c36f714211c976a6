import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { listEndpointRows } from '../../ledger/endpoints/list-endpoint-rows.js';
import type { Endpoint, EndpointState } from '../../publisher/endpoint.js';
import { endpointOfRow } from '../../publisher/endpoint-of-row.js';
import { candidatePatterns } from '../../publisher/type-pattern.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { operationFailure } from '../operation-failure.js';
import { pageOf, readCursor, readLimit } from '../page-cursor.js';
import type { EndpointsDependencies } from './endpoints-dependencies.js';

/** Which endpoints are listed. */
export interface EndpointFilter {
  /** Default: all but removed ones. */
  readonly state?: EndpointState;
  /** Those which are sent this type. */
  readonly type?: string;
  /** Where the page before ended: its `next`. */
  readonly cursor?: string;
  /** Of one page, 1 to 200. Default 50. */
  readonly limit?: number;
}

/** A page of endpoints, in the order of their creation. */
export interface EndpointPage {
  readonly items: readonly Endpoint[];
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
}

const states: readonly EndpointState[] = ['enabled', 'paused', 'disabled', 'removed'];

/** In the order of their creation, see `newEndpointId`. */
const idForm = /^ep_[0-9a-z]+$/;

/**
 * Lists endpoints of a tenant, page by page. One that is added meanwhile comes on the last page.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown filter, `request_invalid` for a filter, limit or cursor that is
 * none, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function listEndpoints(
  { ledger }: Pick<EndpointsDependencies, 'ledger'>,
  tenant: string,
  filter: EndpointFilter = {},
): Promise<EndpointPage> {
  checkTenant(tenant);
  refuseUnknownOptions(filter, ['state', 'type', 'cursor', 'limit'], 'endpoints');
  const { state, type, cursor } = filter;
  if (state !== undefined && !states.includes(state)) throw invalid(`state: expected one of ${states.join(', ')}`);
  if (type !== undefined && (typeof type !== 'string' || type.trim() === '' || type.includes('\0'))) {
    throw invalid("type: expected a type, such as 'order.paid'");
  }
  const limit = readLimit(filter.limit);
  const [after] = readCursor<[string]>(cursor, [idForm]) ?? [''];
  try {
    const rows = await listEndpointRows(ledger.database.query, ledger.schema, {
      tenant,
      states: state ? [state] : states.filter((one) => one !== 'removed'),
      ...(type === undefined ? {} : { patterns: candidatePatterns(type) }),
      after,
      limit: limit + 1,
    });
    return pageOf(rows, limit, endpointOfRow, ({ id }) => [id]);
  } catch (error) {
    throw operationFailure(error);
  }
}

function invalid(what: string): OnefoldError {
  return new OnefoldError('request_invalid', what);
}
