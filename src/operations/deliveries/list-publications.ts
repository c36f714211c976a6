import {
  listPublications as listRows,
  type PublicationPlace,
  type RecordedPublication,
} from '../../ledger/publication-deliveries/list-publications.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { momentForm, type Page, pageOf, readCursor, readLimit } from '../page-cursor.js';
import { type ListOptions, type PublishedWithin, readFilter } from '../read-filter.js';

/** Which publications are asked for; what is left out restricts nothing. */
export interface PublicationFilter extends ListOptions, PublishedWithin {
  /** The exact type. */
  readonly type?: string;
}

const known: readonly (keyof PublicationFilter)[] = ['tenant', 'type', 'since', 'until', 'cursor', 'limit'];

/**
 * Lists publications of a tenant page by page, the latest first, with the count of their deliveries in each state.
 *
 * @throws {OnefoldError} as `listDeliveries`.
 */
export async function listPublications(
  { ledger }: OperationsContext,
  options: PublicationFilter = {},
): Promise<Page<RecordedPublication>> {
  refuseUnknownOptions(options, known, 'publications');
  const { tenant: _tenant, cursor, limit: rows, ...filter } = options;
  const selection = readFilter(options, filter);
  const limit = readLimit(rows);
  const after = readCursor<PublicationPlace>(cursor, [momentForm, undefined]);
  try {
    const found = await listRows(ledger.database.query, ledger.schema, selection, {
      limit: limit + 1,
      ...(after ? { after } : {}),
    });
    return pageOf(
      found,
      limit,
      ({ publication }) => publication,
      ({ place }) => place,
    );
  } catch (error) {
    throw operationFailure(error);
  }
}
