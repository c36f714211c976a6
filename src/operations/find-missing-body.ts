import { OnefoldError } from '../errors.js';
import { readPayload } from '../ledger/read-payload.js';
import { readStartInput } from '../runtime/read-start-input.js';
import type { ProcessEventInput } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';
import type { EventState } from './event-state.js';
import type { NamedEvent } from './read-event-name.js';

/**
 * Makes sure that a run with this input will find its body. Changes nothing.
 *
 * @returns The body where only the history has it still, to be stored before the start; undefined where nothing is missing.
 * @throws {OnefoldError} `payload_missing` when neither ledger nor history has it: the run would only fail again.
 */
export async function findMissingBody(
  { client, ledger }: OperationsContext,
  event: NamedEvent,
  input: ProcessEventInput,
  execution: EventState['execution'],
): Promise<string | undefined> {
  const { tenant, eventKey } = event;
  const { digest } = input;
  if ('text' in input.payload) return undefined;
  if (await readPayload(ledger.database.query, ledger.schema, { tenant, eventKey, digest })) return undefined;
  const fromHistory = execution && (await readStartInput(client, execution));
  // A run that was started with another body is no source for this one.
  if (fromHistory && 'text' in fromHistory.payload && fromHistory.digest === digest) return fromHistory.payload.text;
  throw new OnefoldError(
    'payload_missing',
    `neither the ledger nor Temporal has the body of ${event.source}/${event.id} any more: let the provider send it again`,
  );
}
