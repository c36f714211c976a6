import { countOpenEvents } from '../../ledger/open-events/count-open-events.js';
import { listPauses } from '../../ledger/pauses/list-pauses.js';
import type { RecordedPause } from '../../ledger/pauses/pause-row.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type ShownPause, shownPause } from './pause-wish.js';
import { openEventsOf, type Pausable, readPausable } from './read-pausable.js';

/** A pause, and how many events it holds. */
export interface ListedPause extends ShownPause {
  /** Open events that have it before them. */
  readonly waiting: number;
}

/**
 * Lists the effects and sources that are paused, the oldest pause first, with how many open events wait for each. Paused
 * endpoints stand in the list of endpoints.
 *
 * @throws {OnefoldError} `ledger_unavailable`, `migration_missing`.
 */
export async function listPaused(context: OperationsContext): Promise<readonly ListedPause[]> {
  const { database, schema } = context.ledger;
  try {
    const recorded = await listPauses(database.query, schema);
    const listed: ListedPause[] = [];
    // One after the other: a list that nobody waits for in a hurry need not take every connection.
    for (const one of recorded) {
      const pausable = pausableOf(context, one, recorded);
      const waiting = await countOpenEvents(database.query, schema, openEventsOf(pausable));
      listed.push({ ...shownPause(context.catalogue, one), waiting });
    }
    return listed;
  } catch (error) {
    throw operationFailure(error);
  }
}

function pausableOf({ catalogue }: OperationsContext, one: RecordedPause, all: readonly RecordedPause[]): Pausable {
  const { kind, name, tenant } = one;
  const whose = tenant === undefined ? {} : { tenant };
  return readPausable(catalogue, kind === 'source' ? { source: name, ...whose } : { effect: name, ...whose }, all);
}
