import type { Ledger } from '../../ledger/ledger.js';
import {
  listRejected as listRows,
  type RejectedPlace,
  type RejectedSample,
  type RejectedSelection,
} from '../../ledger/rejected/list-rejected.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { operationFailure } from '../operation-failure.js';
import { momentForm, type Page, pageOf, readCursor, readLimit } from '../page-cursor.js';
import { type ListOptions, readFilter } from '../read-filter.js';

/** Which refused requests are asked for; what is left out restricts nothing. They belong to no tenant. */
export interface RejectedFilter extends RejectedSelection, Omit<ListOptions, 'tenant'> {}

const known: readonly (keyof RejectedFilter)[] = ['source', 'code', 'reason', 'since', 'until', 'cursor', 'limit'];

/**
 * Lists the sampled requests that were refused at the door, before they had an event, page by page, the latest first.
 *
 * @throws {OnefoldError} `request_invalid` naming the filter, `config_invalid` for an unknown one; `ledger_unavailable`,
 * `migration_missing`.
 */
export async function listRejected(
  { ledger }: { readonly ledger: Ledger },
  options: RejectedFilter = {},
): Promise<Page<RejectedSample>> {
  refuseUnknownOptions(options, known, 'rejected');
  const { cursor, limit: rows, ...filter } = options;
  const { tenant: _tenant, ...selection } = readFilter({}, filter);
  const limit = readLimit(rows);
  const after = readCursor<RejectedPlace>(cursor, [momentForm, /^\d{1,18}$/]);
  try {
    const found = await listRows(ledger.database.query, ledger.schema, selection, {
      limit: limit + 1,
      ...(after ? { after } : {}),
    });
    return pageOf(
      found,
      limit,
      ({ sample }) => sample,
      ({ place }) => place,
    );
  } catch (error) {
    throw operationFailure(error);
  }
}
