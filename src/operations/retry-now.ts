import { WorkflowNotFoundError } from '@temporalio/client';
import { ledgerNames } from '../effects/catalogue.js';
import { OnefoldError } from '../errors.js';
import { displayEvent } from '../identity/event-identity.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { type EventStatus, handlerNames } from '../workflows/contract.js';
import { askStatus } from './ask-status.js';
import type { OperationsContext } from './context.js';
import { isClosed } from './describe-execution.js';
import { type EventState, readEventState } from './event-state.js';
import { operationFailure } from './operation-failure.js';
import { type ActOptions, readActOptions } from './read-act-options.js';
import { type NamedEvent, readEventName } from './read-event-name.js';
import { carryOutRetry } from './retry-wish.js';

/** Who wants an event tried now, and why. */
export interface RetryNowOptions extends ActOptions {
  /** Default ''. */
  readonly tenant?: string;
  /** Of the event only this effect, by its name or a former one. Default: all. */
  readonly effect?: string;
  /** Only say what was found. */
  readonly dryRun?: boolean;
}

const known: readonly (keyof RetryNowOptions)[] = ['by', 'reason', 'id', 'tenant', 'effect', 'dryRun'];

/** What came of it. */
export interface RetryNowOutcome {
  /** `source/event-id`. */
  readonly event: string;
  readonly eventKey: string;
  /** Identity of the wish; its act is recorded under `<eventKey>#<id>`. */
  readonly id: string;
  /** `told`: its workflow was told. `told_before`: by the same wish, earlier. `dry_run`: nothing was done. */
  readonly outcome: 'told' | 'told_before' | 'dry_run';
  /**
   * Where each effect that is meant stood before. What pauses is tried; what is parked or waits for a lease is only looked
   * at; of what is being attempted or has ended nothing changes. Undefined where no worker answered: the wish waits for one.
   */
  readonly found?: EventStatus['effects'];
}

/** Everything that it asks of Temporal. */
const temporalWithinMs = 30_000;

/**
 * Ends the pause of a running event between two attempts. Never a second attempt beside one that runs, nor before a lease
 * is over; it spends an attempt as it would have later.
 *
 * @throws {OnefoldError} `event_unknown`; `retry_refused` where no workflow of it runs, with what to do instead, for an
 * effect that it has not, for the id of another act, and without who or why; `config_invalid`, `identity_invalid`,
 * `temporal_unavailable`, `ledger_unavailable`, `migration_missing`.
 */
export async function retryNow(
  context: OperationsContext,
  name: string,
  options: RetryNowOptions,
): Promise<RetryNowOutcome> {
  refuseUnknownOptions(options, known, 'retry-now');
  const wish = readActOptions(options, 'retry_refused');
  const event = readEventName(name, options.tenant);
  try {
    return await context.client.withDeadline(Date.now() + temporalWithinMs, async () => {
      const state = await readEventState(context, event);
      const { recorded, execution } = state;
      if (!execution && !recorded) {
        throw new OnefoldError('event_unknown', `neither the ledger nor Temporal knows ${displayEvent(event)}`);
      }
      if (!execution || isClosed(execution)) throw refused(event, because(state));
      const status = await askStatus(context, event.eventKey);
      const names = namesOf(context, event, options.effect, status, state);
      const found = status?.effects.filter(({ effect }) => names?.includes(effect) ?? true);
      const answer = { event: displayEvent(event), eventKey: event.eventKey, id: wish.id, ...(found ? { found } : {}) };
      if (options.dryRun) return { ...answer, outcome: 'dry_run' };
      const { eventKey, tenant } = event;
      const act = { ...wish, id: `${eventKey}#${wish.id}`, tenant, about: eventKey, seen: { effects: found ?? null } };
      const isNow = await carryOutRetry(context, act, () => signal(context, event, names));
      const outcome = isNow ? 'told' : 'told_before';
      const { by, reason } = wish;
      context.log.info({ eventKey, event: answer.event, act: wish.id, by, reason, outcome }, 'webhook.retried_now');
      return { ...answer, outcome };
    });
  } catch (error) {
    throw operationFailure(error);
  }
}

/** The names under which the event may know the effect; undefined for all effects. */
function namesOf(
  { catalogue }: OperationsContext,
  event: NamedEvent,
  wanted: string | undefined,
  status: EventStatus | undefined,
  { recorded }: EventState,
): readonly string[] | undefined {
  if (wanted === undefined) return undefined;
  const effect = catalogue.effect(wanted);
  const names = [...new Set(effect ? ledgerNames(effect) : [wanted])];
  const its = (status ?? recorded)?.effects.map((one) => one.effect) ?? [];
  if (its.length === 0 || its.some((one) => names.includes(one))) return names;
  throw refused(event, `it has no effect '${wanted}', it has ${its.map((one) => `'${one}'`).join(', ')}`);
}

async function signal(
  { client }: OperationsContext,
  event: NamedEvent,
  names: readonly string[] | undefined,
): Promise<true> {
  const handle = client.workflow.getHandle(event.eventKey);
  try {
    for (const request of names?.map((effect) => ({ effect })) ?? [{}]) {
      await handle.signal(handlerNames.retryNow, request);
    }
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw refused(event, 'it has just ended');
    throw error;
  }
}

/** Why an event without a running workflow cannot be tried now, and what can be done. */
function because({ recorded, execution }: EventState): string {
  switch (recorded?.state) {
    case 'done':
      return 'it is done';
    case 'dead_lettered':
      return 'it is dead-lettered: replay it with onefold replay';
    case 'abandoned':
      return 'it was abandoned: only onefold replay takes it up again';
    case 'ignored':
      return 'no effect subscribed to its type: onefold replay --effect runs one that was added since';
    default: {
      const how = execution ? `its workflow is ${execution.status.name.toLowerCase()}` : 'Temporal has forgotten it';
      return `${how}, and nothing runs: replay it with onefold replay, or let it be redelivered`;
    }
  }
}

function refused(event: NamedEvent, why: string): OnefoldError {
  return new OnefoldError('retry_refused', `${displayEvent(event)} cannot be tried now: ${why}`);
}
