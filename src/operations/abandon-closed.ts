import { inputWithoutBody } from '../effects/plan-event.js';
import { OnefoldError } from '../errors.js';
import { abandonEvent as abandonRow } from '../ledger/abandon-event.js';
import type { TransactionLimits } from '../ledger/database.js';
import { recordAct } from '../ledger/record-act.js';
import type { ProcessEventInput } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';
import type { EventState } from './event-state.js';
import { findMissingBody } from './find-missing-body.js';
import type { ActOptions } from './read-act-options.js';
import type { NamedEvent } from './read-event-name.js';
import { replayInput } from './replay-input.js';

/** Two short statements, which wait for a completion that is just committing. */
const limitMs = 10_000;

/**
 * Gives an event up that no workflow carries, with the act of it in the same transaction. Its body is kept where only the
 * history had it, since a replay may want it when that is gone; where nobody has it any more, it is given up all the same.
 *
 * A run that is started meanwhile finds it abandoned at its next claim, and completes as that.
 *
 * @param seen What was known before, kept with the act.
 * @returns False where it has been completed meanwhile.
 * @throws {OnefoldError} `payload_missing` when the ledger does not have it, nor the history its input.
 */
export async function abandonClosed(
  context: OperationsContext,
  event: NamedEvent,
  state: EventState,
  { id, by, reason }: Required<ActOptions>,
  seen: unknown,
): Promise<boolean> {
  const { input, body } = await readRecord(context, event, state);
  const { database, schema } = context.ledger;
  const { tenant, eventKey } = event;
  const { source, digest, receivedAt, type } = input;
  const limits: TransactionLimits = {
    statementTimeoutMs: limitMs,
    lockTimeoutMs: limitMs,
    idleTimeoutMs: limitMs,
    signal: AbortSignal.timeout(limitMs),
  };
  return database.transaction(async (_tx, sql) => {
    const abandoned = await abandonRow(sql, schema, {
      tenant,
      eventKey,
      source,
      id: input.id,
      type,
      digest,
      receivedAt,
      input: input.text,
      by,
      reason,
      body: body === undefined ? undefined : Buffer.from(body),
    });
    if (!abandoned) return false;
    const act = { tenant, id, kind: 'abandon', eventKey, actor: by, reason, outcome: 'abandoned' } as const;
    await recordAct(sql, schema, { ...act, seen: JSON.stringify(seen) });
    return true;
  }, limits);
}

/** What the event's row is made of where there is none yet. */
interface RecordOfEvent {
  readonly input: Pick<ProcessEventInput, 'source' | 'id' | 'type' | 'digest' | 'receivedAt'> & {
    readonly text: string;
  };
  readonly body: string | undefined;
}

/** A dead letter of what was never an event has a row, and no input; that row is given up as it stands. */
async function readRecord(context: OperationsContext, event: NamedEvent, state: EventState): Promise<RecordOfEvent> {
  const { recorded, execution } = state;
  try {
    const input = await replayInput(context, event, state);
    return { input: { ...input, text: inputWithoutBody(input) }, body: await bodyToKeep(context, event, state, input) };
  } catch (error) {
    if (!recorded || !(error instanceof OnefoldError && error.code === 'payload_missing')) throw error;
    const receivedAt = (execution?.startTime ?? new Date()).toISOString();
    return { input: { ...recorded, receivedAt, text: recorded.input }, body: undefined };
  }
}

async function bodyToKeep(
  context: OperationsContext,
  event: NamedEvent,
  { execution }: EventState,
  input: ProcessEventInput,
): Promise<string | undefined> {
  if ('text' in input.payload) return input.payload.text;
  try {
    return await findMissingBody(context, event, input, execution);
  } catch (error) {
    if (error instanceof OnefoldError && error.code === 'payload_missing') return undefined;
    throw error;
  }
}
