import {
  type DeliveryState,
  deliveryStates,
  type RecordedDelivery,
} from '../../ledger/publication-deliveries/delivery-row.js';
import {
  type DeliveryPlace,
  listDeliveries as listOfTenant,
} from '../../ledger/publication-deliveries/list-deliveries.js';
import { listDeliveriesOfEndpoint } from '../../ledger/publication-deliveries/list-deliveries-of-endpoint.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { momentForm, type Page, pageOf, readCursor, readLimit } from '../page-cursor.js';
import { type ListOptions, type PublishedWithin, readFilter } from '../read-filter.js';

/** Which deliveries are asked for; what is left out restricts nothing. */
export interface DeliveryFilter extends ListOptions, PublishedWithin {
  readonly endpoint?: string;
  readonly publication?: string;
  /** The exact type. */
  readonly type?: string;
  readonly state?: DeliveryState;
}

const known: readonly (keyof DeliveryFilter)[] = [
  'tenant',
  'endpoint',
  'publication',
  'type',
  'state',
  'since',
  'until',
  'cursor',
  'limit',
];

/**
 * Lists deliveries of a tenant page by page, those published last first. A page is whole whatever is published meanwhile;
 * states are those of its reading.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown filter, `request_invalid` for one that is wrong,
 * `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function listDeliveries(
  { ledger }: OperationsContext,
  options: DeliveryFilter = {},
): Promise<Page<RecordedDelivery>> {
  refuseUnknownOptions(options, known, 'deliveries');
  const { tenant: _tenant, cursor, limit: rows, ...filter } = options;
  const { endpoint, ...selection } = readFilter(options, filter, deliveryStates);
  const limit = readLimit(rows);
  const after = readCursor<DeliveryPlace>(cursor, [momentForm, undefined, undefined]);
  // One row more tells whether there is another page.
  const page = { limit: limit + 1, ...(after ? { after } : {}) };
  const { database, schema } = ledger;
  try {
    const found =
      endpoint === undefined
        ? await listOfTenant(database.query, schema, selection, page)
        : await listDeliveriesOfEndpoint(database.query, schema, { ...selection, endpoint }, page);
    return pageOf(
      found,
      limit,
      ({ delivery }) => delivery,
      ({ place }) => place,
    );
  } catch (error) {
    throw operationFailure(error);
  }
}
