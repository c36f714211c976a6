import { OnefoldError } from '../../errors.js';
import { displayEvent, parseEventKey } from '../../identity/event-identity.js';
import { eventStates } from '../../ledger/events/event-selection.js';
import { type EventPlace, type ListedEvent, listEvents as listRows } from '../../ledger/events/list-events.js';
import { listUnplanned } from '../../ledger/events/list-unplanned.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { momentForm, type Page, pageOf, readCursor, readLimit } from '../page-cursor.js';
import { type ListOptions, readFilter } from '../read-filter.js';

/** States that a list can be asked for: those of the ledger, and `received`, which no worker has planned yet. */
export const listedStates = ['received', ...eventStates] as const;

/** Which events are asked for; what is left out restricts nothing. */
export interface EventFilter extends ListOptions {
  readonly source?: string;
  /** The exact type. */
  readonly type?: string;
  readonly state?: (typeof listedStates)[number];
  /** The exact key of one of its effects. */
  readonly businessKey?: string;
  /** An effect that it has, by its present name or a former one. */
  readonly effect?: string;
  /** Of its open dead letter. */
  readonly code?: string;
  /** Received at or after. */
  readonly since?: Date;
  /** Received before. */
  readonly until?: Date;
}

/** An event in a list; of one that was only received, the type is not known. */
export interface EventInList extends Omit<ListedEvent, 'state' | 'type'> {
  /** `source/event-id`. */
  readonly event: string;
  readonly type?: string;
  readonly state: (typeof listedStates)[number];
}

const known: readonly (keyof EventFilter)[] = [
  'tenant',
  'source',
  'type',
  'state',
  'businessKey',
  'effect',
  'code',
  'since',
  'until',
  'cursor',
  'limit',
];

/** How far back events are looked for that were received and never planned, where nobody says. */
const unplannedSinceMs = 24 * 3_600_000;

/**
 * Lists events of a tenant page by page, those received last first. What is listed stands in PostgreSQL, so that an event is
 * found as soon as it has been planned; what waits for its plan is the state `received`, which has no further pages.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown filter, `request_invalid` for one that is wrong, or that cannot be
 * joined to `received`; `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function listEvents(context: OperationsContext, options: EventFilter = {}): Promise<Page<EventInList>> {
  refuseUnknownOptions(options, known, 'events');
  const { tenant: _tenant, cursor, limit: rows, ...filter } = options;
  const selection = readFilter(options, filter, listedStates);
  const limit = readLimit(rows);
  const after = readCursor<EventPlace>(cursor, [momentForm, undefined]);
  const { database, schema } = context.ledger;
  const { state, effect, ...rest } = selection;
  try {
    if (state === 'received') return { items: await received(context, options, limit) };
    const found = await listRows(
      database.query,
      schema,
      {
        ...rest,
        ...(state === undefined ? {} : { state }),
        ...(effect === undefined ? {} : { effects: namesOf(context, effect) }),
      },
      { limit: limit + 1, ...(after ? { after } : {}) },
    );
    return pageOf(
      found,
      limit,
      ({ event }) => ({ ...event, event: displayEvent(event) }),
      ({ place }) => place,
    );
  } catch (error) {
    throw operationFailure(error);
  }
}

function namesOf({ catalogue }: OperationsContext, name: string): readonly string[] {
  const effect = catalogue.effect(name);
  return effect ? [...effect.formerly, effect.name] : [name];
}

async function received(
  { ledger }: OperationsContext,
  options: EventFilter,
  limit: number,
): Promise<readonly EventInList[]> {
  for (const name of ['type', 'businessKey', 'effect', 'code', 'cursor'] as const) {
    if (options[name] === undefined) continue;
    throw new OnefoldError('request_invalid', `${name}: nothing is known of it before an event is planned`);
  }
  const { tenant = '', source, since = new Date(Date.now() - unplannedSinceMs), until } = options;
  const found = await listUnplanned(
    ledger.database.query,
    ledger.schema,
    { tenant, since, ...(source === undefined ? {} : { source }), ...(until ? { until } : {}) },
    limit,
  );
  return found.map(({ eventKey, ...event }) => {
    const id = parseEventKey(eventKey)?.id ?? eventKey.slice(eventKey.lastIndexOf('/') + 1);
    return {
      ...event,
      eventKey,
      id,
      event: displayEvent({ source: event.source, id }),
      state: 'received',
      effects: [],
    };
  });
}
