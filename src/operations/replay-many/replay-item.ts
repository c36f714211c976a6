import { type ErrorCode, OnefoldError } from '../../errors.js';
import { cutText } from '../../identity/cut-text.js';
import type { EndedItem } from '../../ledger/replay-sets/end-items.js';
import type { ReplayItem } from '../../ledger/replay-sets/lock-items.js';
import type { ReplaySet } from '../../ledger/replay-sets/read-set.js';
import { storableText } from '../../ledger/storable-text.js';
import type { OperationsContext } from '../context.js';
import { type ReplayOutcome, replayEvent } from '../replay-event.js';

/** Refusals that concern one event alone; whatever else fails would fail for the next one too. */
const ofOneEvent: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'replay_refused',
  'keys_differ',
  'payload_missing',
  'event_unknown',
  'identity_invalid',
  'start_refused',
]);

/** Characters of a note that is kept with an event. */
const noteLength = 500;

/** Why an event cannot be replayed now, where that concerns it alone; else undefined. */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof OnefoldError) || !ofOneEvent.has(error.code)) return undefined;
  return storableText(cutText(`${error.code}: ${error.message}`, noteLength));
}

/**
 * Replays one event of a set, under an act whose id is made of the set's and the position: done again after a crash, it is
 * the same wish.
 *
 * @throws {OnefoldError} What concerns every event, such as `temporal_unavailable` and `ledger_unavailable`.
 */
export async function replayItem(context: OperationsContext, set: ReplaySet, item: ReplayItem): Promise<EndedItem> {
  const { tenant, by, reason, effect } = set;
  const { position } = item;
  try {
    const { outcome } = await replayEvent(context, item.eventKey, {
      tenant,
      by,
      reason,
      id: `${set.id}/${position}`,
      ...(effect === undefined ? {} : { effect }),
    });
    return { position, outcome: carriedOut(outcome) };
  } catch (error) {
    const note = refusalOf(error);
    if (note === undefined) throw error;
    return { position, outcome: 'refused', note };
  }
}

function carriedOut(outcome: ReplayOutcome['outcome']): Exclude<ReplayOutcome['outcome'], 'dry_run'> {
  if (outcome === 'dry_run') throw new Error('a replay that was no dry run answered as one');
  return outcome;
}
