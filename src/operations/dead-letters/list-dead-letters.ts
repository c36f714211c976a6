import { displayEvent } from '../../identity/event-identity.js';
import { type ListedDeadLetter, listDeadLetters as listRows } from '../../ledger/dead-letters/list-dead-letters.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type Page, pageOf, readCursor, readLimit } from '../page-cursor.js';
import { type ListOptions, readFilter } from '../read-filter.js';
import { readKind } from './read-kind.js';

/** Which dead letters are asked for; what is left out restricts nothing. */
export interface DeadLetterFilter extends ListOptions {
  /** Of events or of deliveries. Default: both. */
  readonly kind?: 'event' | 'delivery';
  /** Workflow ID of the event or the delivery. */
  readonly key?: string;
  /** Source of an event. */
  readonly source?: string;
  /** Endpoint of a delivery. */
  readonly endpoint?: string;
  /** Publication of a delivery. */
  readonly publication?: string;
  /** The exact type. */
  readonly type?: string;
  /** Why it ended. */
  readonly code?: string;
  /** The exact key of one of an event's effects. */
  readonly businessKey?: string;
  /** Who looks after it. */
  readonly owner?: string;
  /** Only those that wait for a person while their event runs, or only the others. */
  readonly parked?: boolean;
  /** Opened at or after. */
  readonly since?: Date;
  /** Opened before. */
  readonly until?: Date;
  /** Closed ones too. Default false. */
  readonly all?: boolean;
}

/** What ended without its effect, and waits for somebody to look at it. */
export interface DeadLetter {
  /** Of this entry, such as `onefold dead-letters show` takes it. */
  readonly id: string;
  readonly tenant: string;
  readonly kind: 'event' | 'delivery';
  /** `source/event-id` of an event, the publication of a delivery. */
  readonly name: string;
  /** Of a delivery. */
  readonly endpoint?: string;
  /** The workflow ID. */
  readonly key: string;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  /** The reason of every attempt that was kept: of an event by effect, of a delivery in a list. */
  readonly reasons: unknown;
  /** How often it ended so since it was opened, and in which runs. */
  readonly occurrences: number;
  readonly runs: readonly string[];
  /** It waits for a person while its event still runs. */
  readonly parked: boolean;
  readonly openedAt: Date;
  readonly lastAt: Date;
  readonly owner?: string;
  readonly note?: string;
  readonly closedAt?: Date;
  readonly closedBy?: string;
}

const known: readonly (keyof DeadLetterFilter)[] = [
  'tenant',
  'kind',
  'key',
  'source',
  'endpoint',
  'publication',
  'type',
  'code',
  'businessKey',
  'owner',
  'parked',
  'since',
  'until',
  'all',
  'cursor',
  'limit',
];

/** As PostgreSQL's bigint holds it. */
export const letterIdForm = /^[1-9]\d{0,17}$/;

/**
 * Lists dead letters of a tenant's events and deliveries page by page, the latest first.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown filter, `request_invalid` for one that is wrong,
 * `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function listDeadLetters(
  { ledger }: OperationsContext,
  options: DeadLetterFilter = {},
): Promise<Page<DeadLetter>> {
  refuseUnknownOptions(options, known, 'dead letters');
  const { tenant: _tenant, cursor, limit: rows, all, kind: asked, ...filter } = options;
  const { endpoint, publication, source: from, ...rest } = readFilter(options, filter);
  const { businessKey } = rest;
  const kind = readKind(asked, { event: { source: from, businessKey }, delivery: { endpoint, publication } });
  const source = endpoint ?? from;
  const limit = readLimit(rows);
  const [before] = readCursor<readonly [string]>(cursor, [letterIdForm]) ?? [];
  try {
    const found = await listRows(
      ledger.database.query,
      ledger.schema,
      {
        ...rest,
        ...(kind === undefined ? {} : { kind }),
        ...(source === undefined ? {} : { source }),
        ...(publication === undefined ? {} : { of: publication }),
        open: all !== true,
      },
      { limit: limit + 1, ...(before === undefined ? {} : { before }) },
    );
    return pageOf(found, limit, deadLetter, ({ id }) => [id]);
  } catch (error) {
    throw operationFailure(error);
  }
}

/** A dead letter in the words of operations. */
export function deadLetter({ source, of, reasons, ...rest }: ListedDeadLetter): DeadLetter {
  const event = rest.kind === 'event';
  return {
    ...rest,
    name: event ? displayEvent({ source, id: of }) : of,
    ...(event ? {} : { endpoint: source }),
    reasons: JSON.parse(reasons) as unknown,
  };
}
