import { type ListedDeadLetter, listDeadLetters as listRows } from '../../ledger/dead-letters/list-dead-letters.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type Page, pageOf, readCursor, readLimit } from '../page-cursor.js';
import { type ListOptions, readFilter } from '../read-filter.js';

/** Which dead letters are asked for; what is left out restricts nothing. */
export interface DeadLetterFilter extends ListOptions {
  readonly endpoint?: string;
  readonly publication?: string;
  /** Why the delivery ended. */
  readonly code?: string;
  /** Those that were closed, by a delivery or a person, too. Default false. */
  readonly all?: boolean;
}

/** The dead letter of a delivery. */
export interface DeliveryDeadLetter {
  readonly tenant: string;
  readonly endpoint: string;
  readonly publication: string;
  readonly deliveryKey: string;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  /** The reason of every attempt that was kept, of the latest run. */
  readonly reasons: unknown;
  /** How often it ended so since it was opened. */
  readonly occurrences: number;
  readonly openedAt: Date;
  readonly lastAt: Date;
  /** Who looks after it, and what they found. */
  readonly owner?: string;
  readonly note?: string;
  readonly closedAt?: Date;
  readonly closedBy?: string;
}

const known: readonly (keyof DeadLetterFilter)[] = [
  'tenant',
  'endpoint',
  'publication',
  'code',
  'all',
  'cursor',
  'limit',
];

/** As PostgreSQL's bigint holds it. */
const idForm = /^\d{1,18}$/;

/**
 * Lists dead letters of a tenant's deliveries page by page, the latest first.
 *
 * @throws {OnefoldError} as `listDeliveries`.
 */
export async function listDeadLetters(
  { ledger }: OperationsContext,
  options: DeadLetterFilter = {},
): Promise<Page<DeliveryDeadLetter>> {
  refuseUnknownOptions(options, known, 'dead letters');
  const { endpoint, publication, code, all, cursor } = options;
  const { tenant, ...filter } = readFilter(options, { endpoint, publication, code });
  const limit = readLimit(options.limit);
  const [before] = readCursor<readonly [string]>(cursor, [idForm]) ?? [];
  try {
    const found = await listRows(
      ledger.database.query,
      ledger.schema,
      {
        tenant,
        kind: 'delivery',
        ...(filter.endpoint === undefined ? {} : { source: filter.endpoint }),
        ...(filter.publication === undefined ? {} : { of: filter.publication }),
        ...(filter.code === undefined ? {} : { code: filter.code }),
        open: all !== true,
      },
      { limit: limit + 1, ...(before === undefined ? {} : { before }) },
    );
    return pageOf(found, limit, deliveryDeadLetter, ({ id }) => [id]);
  } catch (error) {
    throw operationFailure(error);
  }
}

/** A dead letter in the words of deliveries. */
export function deliveryDeadLetter(letter: ListedDeadLetter): DeliveryDeadLetter {
  const { id: _id, kind: _kind, runs: _runs, parked: _parked, key, source, of, reasons, ...rest } = letter;
  return { ...rest, endpoint: source, publication: of, deliveryKey: key, reasons: JSON.parse(reasons) as unknown };
}
