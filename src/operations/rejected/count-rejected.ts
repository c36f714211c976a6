import type { Ledger } from '../../ledger/ledger.js';
import { countRejected as countRows, type RejectedTotal } from '../../ledger/rejected/count-rejected.js';
import type { RejectedSelection } from '../../ledger/rejected/list-rejected.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { operationFailure } from '../operation-failure.js';
import { readFilter } from '../read-filter.js';

const known: readonly (keyof RejectedSelection)[] = ['source', 'code', 'reason', 'since', 'until'];

/**
 * Counts the requests that were refused at the door, by source, code and reason, the most first; by whole hours.
 *
 * @throws {OnefoldError} as `listRejected`.
 */
export async function countRejected(
  { ledger }: { readonly ledger: Ledger },
  options: RejectedSelection = {},
): Promise<readonly RejectedTotal[]> {
  refuseUnknownOptions(options, known, 'rejected');
  const { tenant: _tenant, ...selection } = readFilter({}, { ...options });
  try {
    return await countRows(ledger.database.query, ledger.schema, selection);
  } catch (error) {
    throw operationFailure(error);
  }
}
