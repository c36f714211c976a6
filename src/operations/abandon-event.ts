import { setTimeout as sleep } from 'node:timers/promises';
import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { OnefoldError } from '../errors.js';
import { displayEvent } from '../identity/event-identity.js';
import { readAct } from '../ledger/record-act.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { type AbandonAnswer, type AbandonRequest, handlerNames } from '../workflows/contract.js';
import { abandonClosed } from './abandon-closed.js';
import type { OperationsContext } from './context.js';
import { isClosed } from './describe-execution.js';
import { type EffectStanding, effectStandings } from './effect-standing.js';
import { readEventState } from './event-state.js';
import { operationFailure } from './operation-failure.js';
import { type ActOptions, readActOptions } from './read-act-options.js';
import { type NamedEvent, readEventName } from './read-event-name.js';

/** Who gives an event up, and why. */
export interface AbandonEventOptions extends ActOptions {
  /** Default ''. */
  readonly tenant?: string;
  /** Only say where it stands. */
  readonly dryRun?: boolean;
}

const known: readonly (keyof AbandonEventOptions)[] = ['by', 'reason', 'id', 'tenant', 'dryRun'];

/** What came of it. */
export interface AbandonEventOutcome {
  /** `source/event-id`. */
  readonly event: string;
  readonly eventKey: string;
  /** Identity of the wish; its act is recorded under `<eventKey>#<id>`. */
  readonly id: string;
  /** Where it stood before: in the ledger and in Temporal. */
  readonly state: { readonly ledger: string; readonly temporal: string };
  /** Where its effects stood before; none where it was never planned. */
  readonly effects: readonly EffectStanding[];
  /**
   * `abandoned`: nothing of it runs any more, nor after a redelivery. `already_abandoned`: somebody had given it up before.
   * `superseded`: this wish was carried out before, and somebody has replayed the event since. `dry_run`: nothing was changed.
   */
  readonly outcome: 'abandoned' | 'already_abandoned' | 'superseded' | 'dry_run';
  /** Who had given it up, and why, where that was before. */
  readonly abandoned?: { readonly by: string; readonly reason: string };
}

/** Everything that it asks of Temporal. */
const temporalWithinMs = 30_000;

/** An event that is just ending, or just being started again, is looked at again for so long. */
const settleWithinMs = 10_000;
const lookEveryMs = 100;

/**
 * Gives an event up: a running one by its workflow, once the attempt that is being made has ended; a dead-lettered,
 * terminated, cancelled or forgotten one in the ledger. What is done of it stays done, its dead letter is closed, and
 * redeliveries complete as abandoned, whatever Temporal still knows. Only a replay takes it up again.
 *
 * @throws {OnefoldError} `event_unknown`; `abandon_refused` where every effect of it is done, where no effect subscribed to
 * its type, and without who or why; `payload_missing` where neither ledger nor history has its input; `config_invalid`,
 * `identity_invalid`; `temporal_unavailable`, also where no worker takes the wish to its workflow; `ledger_unavailable`,
 * `migration_missing`.
 */
export async function abandonEvent(
  context: OperationsContext,
  name: string,
  options: AbandonEventOptions,
): Promise<AbandonEventOutcome> {
  refuseUnknownOptions(options, known, 'abandoning of an event');
  const wish = readActOptions(options, 'abandon_refused');
  const event = readEventName(name, options.tenant);
  try {
    return await context.client.withDeadline(Date.now() + temporalWithinMs, () =>
      carryOut(context, event, wish, options.dryRun === true),
    );
  } catch (error) {
    throw operationFailure(error);
  }
}

async function carryOut(
  context: OperationsContext,
  event: NamedEvent,
  wish: Required<ActOptions>,
  dryRun: boolean,
): Promise<AbandonEventOutcome> {
  const { query } = context.ledger.database;
  const { schema } = context.ledger;
  const act = `${event.eventKey}#${wish.id}`;
  let before: Pick<AbandonEventOutcome, 'state' | 'effects'> | undefined;
  let because = 'it is just being started, or is just ending';
  for (const until = Date.now() + settleWithinMs; ; ) {
    const state = await readEventState(context, event);
    const { recorded, execution } = state;
    if (!recorded && !execution) {
      throw new OnefoldError('event_unknown', `neither the ledger nor Temporal knows ${displayEvent(event)}`);
    }
    before ??= {
      state: { ledger: recorded?.state ?? 'unknown', temporal: execution?.status.name.toLowerCase() ?? 'forgotten' },
      effects: recorded ? await effectStandings(context, recorded) : [],
    };
    const answer = { event: displayEvent(event), eventKey: event.eventKey, id: wish.id, ...before };
    if (!dryRun && (await readAct(query, schema, event.tenant, act))) {
      return told(context, wish, { ...answer, outcome: recorded?.state === 'abandoned' ? 'abandoned' : 'superseded' });
    }
    if (recorded?.state === 'done') throw refused(event, 'every effect of it is done');
    if (recorded?.state === 'ignored')
      throw refused(event, 'no effect subscribed to its type, so nothing is to be done');
    const isRunning = execution !== undefined && !isClosed(execution);
    if (recorded?.abandoned && !isRunning) {
      return { ...answer, outcome: dryRun ? 'dry_run' : 'already_abandoned', abandoned: recorded.abandoned };
    }
    if (dryRun) return { ...answer, outcome: 'dry_run' };
    if (isRunning) {
      const answered = await askRun(context, event, wish);
      if (answered?.abandoned) return told(context, wish, { ...answer, outcome: 'abandoned' });
      because = answered?.because ?? because;
    } else if (await abandonClosed(context, event, state, { ...wish, id: act }, before)) {
      return told(context, wish, { ...answer, outcome: 'abandoned' });
    }
    if (Date.now() > until) throw refused(event, because);
    await sleep(lookEveryMs);
  }
}

function told(
  context: OperationsContext,
  { id, by, reason }: Required<ActOptions>,
  outcome: AbandonEventOutcome,
): AbandonEventOutcome {
  const { event, eventKey } = outcome;
  context.log.info({ eventKey, event, act: id, by, reason, outcome: outcome.outcome }, 'webhook.abandoned');
  return outcome;
}

/** @returns Undefined where the run ended before it could answer. */
async function askRun(
  { client }: OperationsContext,
  event: NamedEvent,
  { id, by, reason }: Required<ActOptions>,
): Promise<AbandonAnswer | undefined> {
  try {
    return await client.workflow
      .getHandle(event.eventKey)
      .executeUpdate<AbandonAnswer, [AbandonRequest]>(handlerNames.abandon, { args: [{ by, reason }], updateId: id });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError) return undefined;
    if (!(error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)) throw error;
    throw new OnefoldError(
      'temporal_unavailable',
      `no worker took the wish to the workflow of ${displayEvent(event)} in time, or its attempt has not ended yet: repeat it under the id ${id} while a worker runs`,
      { cause: error },
    );
  }
}

function refused(event: NamedEvent, because: string): OnefoldError {
  return new OnefoldError('abandon_refused', `${displayEvent(event)} cannot be given up: ${because}`);
}
