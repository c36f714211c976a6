import { OnefoldError } from '../errors.js';
import { readStartInput } from '../runtime/read-start-input.js';
import { isProcessEventInput, type ProcessEventInput } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';
import type { EventState } from './event-state.js';
import type { NamedEvent } from './read-event-name.js';

/**
 * Reads the input that an event is run again with: the ledger's first, since a run started by hand may have had another;
 * else that of the latest history.
 *
 * @throws {OnefoldError} `payload_missing` when neither has one.
 */
export async function replayInput(
  context: OperationsContext,
  event: NamedEvent,
  { recorded, execution }: EventState,
): Promise<ProcessEventInput> {
  const fromLedger: unknown = recorded && JSON.parse(recorded.input);
  if (isProcessEventInput(fromLedger)) return fromLedger;
  const fromHistory = execution && (await readStartInput(context.client, execution));
  if (!fromHistory) {
    throw new OnefoldError(
      'payload_missing',
      `neither the ledger nor Temporal has the input of ${event.source}/${event.id}: let the provider send it again`,
    );
  }
  // What a run before carried over belongs to its budget, and its replay to another wish.
  const { carried: _carried, replay: _replay, ...input } = fromHistory;
  return input;
}
