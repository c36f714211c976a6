import { type CountedDeadLetters, countDeadLetters as count } from '../../ledger/dead-letters/count-dead-letters.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { readFilter } from '../read-filter.js';
import { readKind } from './read-kind.js';

/** Which dead letters are counted; what is left out restricts nothing. */
export interface CountFilter {
  /** Default ''. */
  readonly tenant?: string;
  readonly kind?: 'event' | 'delivery';
  /** Source of events, endpoint of deliveries. */
  readonly source?: string;
}

/**
 * Counts the open dead letters of a tenant by where and why they ended, with the age of the oldest.
 *
 * @throws {OnefoldError} as `listDeadLetters`.
 */
export async function countDeadLetters(
  { ledger }: OperationsContext,
  options: CountFilter = {},
): Promise<readonly CountedDeadLetters[]> {
  refuseUnknownOptions(options, ['tenant', 'kind', 'source'], 'count of dead letters');
  const kind = readKind(options.kind);
  const { tenant, source } = readFilter(options, { source: options.source });
  try {
    return await count(ledger.database.query, ledger.schema, {
      tenant,
      ...(kind === undefined ? {} : { kind }),
      ...(source === undefined ? {} : { source }),
    });
  } catch (error) {
    throw operationFailure(error);
  }
}
