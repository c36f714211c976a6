import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { ledgerNames } from '../effects/catalogue.js';
import { OnefoldError } from '../errors.js';
import { readClaim } from '../ledger/read-claim.js';
import { type RecordedEvent, readPlan } from '../ledger/read-plan.js';
import type { OperationsContext } from './context.js';
import { describeExecution, isClosed } from './describe-execution.js';
import type { NamedEvent } from './read-event-name.js';

/** Where an event stands: what the ledger has of it, and its latest run. Either may be missing. */
export interface EventState {
  readonly recorded: RecordedEvent | undefined;
  /** Undefined where Temporal has forgotten the event, or never had it. */
  readonly execution: WorkflowExecutionDescription | undefined;
}

/**
 * Between the dead letter and the end of its workflow lie a few milliseconds; a replay that comes in them waits for the
 * end instead of being refused as running.
 */
const closeWaitMs = 10_000;
const lookEveryMs = 50;

/** Reads the run first: what a closed run wrote into the ledger is there by then. */
export async function readEventState(context: OperationsContext, event: NamedEvent): Promise<EventState> {
  const execution = await describeExecution(context.client, event.eventKey);
  const { database, schema } = context.ledger;
  return { execution, recorded: await readPlan(database.query, schema, event.tenant, event.eventKey) };
}

/**
 * Reads the state of an event that nobody is processing.
 *
 * @throws {OnefoldError} `replay_refused` while it is being processed; `event_unknown`.
 */
export async function readClosedState(context: OperationsContext, event: NamedEvent): Promise<EventState> {
  const until = Date.now() + closeWaitMs;
  for (;;) {
    const state = await readEventState(context, event);
    const { execution, recorded } = state;
    if (!execution && !recorded) {
      throw new OnefoldError('event_unknown', `neither the ledger nor Temporal knows ${event.source}/${event.id}`);
    }
    if (!execution || isClosed(execution)) return state;
    const ending = recorded !== undefined && recorded.state !== 'open';
    if (!ending || Date.now() > until) {
      const parked = recorded && (await parkedEffect(context, recorded));
      const name = `${event.source}/${event.id}`;
      throw new OnefoldError(
        'replay_refused',
        parked
          ? `${name} waits for a person, and goes on by itself then: onefold resolve ${parked}`
          : `${name} is being processed: end its pause with onefold retry-now, or give it up with onefold abandon`,
      );
    }
    await sleep(lookEveryMs);
  }
}

/** The first of an event's effects that waits for a person, as the command that ends it names it. */
async function parkedEffect(
  { ledger, catalogue }: OperationsContext,
  { tenant, effects }: RecordedEvent,
): Promise<string | undefined> {
  for (const { effect: recordedAs, businessKey, ended } of effects) {
    if (ended) continue;
    const effect = catalogue.effect(recordedAs);
    const names = effect ? ledgerNames(effect) : [recordedAs];
    const claim = await readClaim(ledger.database.query, ledger.schema, { tenant, names, businessKey });
    if (claim?.state === 'parked') return `${effect?.name ?? recordedAs} ${JSON.stringify(businessKey)}`;
  }
  return undefined;
}
