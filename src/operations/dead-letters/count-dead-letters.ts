import { type CountedDeadLetters, countDeadLetters as count } from '../../ledger/dead-letters/count-dead-letters.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { readFilter } from '../read-filter.js';

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
  const { source, kind } = options;
  const { tenant, state, source: of } = readFilter(options, { source, state: kind }, ['event', 'delivery']);
  try {
    return await count(ledger.database.query, ledger.schema, {
      tenant,
      ...(state === undefined ? {} : { kind: state }),
      ...(of === undefined ? {} : { source: of }),
    });
  } catch (error) {
    throw operationFailure(error);
  }
}
