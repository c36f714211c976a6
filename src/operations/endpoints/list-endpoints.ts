import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { listEndpointRows } from '../../ledger/endpoints/list-endpoint-rows.js';
import type { Endpoint, EndpointState } from '../../publisher/endpoint.js';
import { endpointOfRow } from '../../publisher/endpoint-of-row.js';
import { asEndpointInvalid } from '../../publisher/endpoint-settings.js';
import { candidatePatterns } from '../../publisher/type-pattern.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { operationFailure } from '../operation-failure.js';
import type { EndpointsDependencies } from './endpoints-dependencies.js';

/** Which endpoints are listed. */
export interface EndpointFilter {
  /** Default: all but removed ones. */
  readonly state?: EndpointState;
  /** Those which are sent this type. */
  readonly type?: string;
  /** Where the page before ended: its `next`. */
  readonly cursor?: string;
  /** Of one page, 1 to 500. Default 100. */
  readonly limit?: number;
}

/** A page of endpoints, in the order of their creation. */
export interface EndpointPage {
  readonly items: readonly Endpoint[];
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
}

const states: readonly EndpointState[] = ['enabled', 'paused', 'disabled', 'removed'];
const mostPerPage = 500;

/**
 * Lists endpoints of a tenant, page by page. One that is added meanwhile comes on the last page.
 *
 * @throws {OnefoldError} `endpoint_invalid` for a filter or cursor that is none, `identity_invalid`, `ledger_unavailable`,
 * `migration_missing`.
 */
export async function listEndpoints(
  { ledger }: Pick<EndpointsDependencies, 'ledger'>,
  tenant: string,
  filter: EndpointFilter = {},
): Promise<EndpointPage> {
  checkTenant(tenant);
  asEndpointInvalid(() => refuseUnknownOptions(filter, ['state', 'type', 'cursor', 'limit'], 'endpoints'));
  const { state, type, cursor, limit = 100 } = filter;
  if (state !== undefined && !states.includes(state)) throw invalid(`state: expected one of ${states.join(', ')}`);
  if (type !== undefined && (typeof type !== 'string' || type.includes('\0'))) throw invalid('type: expected a type');
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= mostPerPage)) {
    throw invalid(`limit: expected a whole number from 1 to ${mostPerPage}`);
  }
  try {
    const rows = await listEndpointRows(ledger.database.query, ledger.schema, {
      tenant,
      states: state ? [state] : states.filter((one) => one !== 'removed'),
      ...(type === undefined ? {} : { patterns: candidatePatterns(type) }),
      after: cursor === undefined ? '' : readCursor(cursor),
      limit: limit + 1,
    });
    const items = rows.slice(0, limit).map(endpointOfRow);
    const last = items.at(-1);
    return { items, ...(rows.length > limit && last ? { next: cursorOf(last) } : {}) };
  } catch (error) {
    throw operationFailure(error);
  }
}

function cursorOf({ id }: Endpoint): string {
  return Buffer.from(id).toString('base64url');
}

function readCursor(cursor: string): string {
  const id = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString('utf8') : '';
  if (/^ep_[0-9a-z]+$/.test(id)) return id;
  throw invalid("cursor: expected the 'next' of a page");
}

function invalid(what: string): OnefoldError {
  return new OnefoldError('endpoint_invalid', what);
}
