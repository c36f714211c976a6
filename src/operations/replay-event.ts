import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { ledgerName, subscribedEffects } from '../effects/catalogue.js';
import { OnefoldError } from '../errors.js';
import { type RecordedEvent, readPlan } from '../ledger/read-plan.js';
import { readAct, recordAct, setActOutcome } from '../ledger/record-act.js';
import { readStartInput } from '../runtime/read-start-input.js';
import {
  type EventMemo,
  type EventPayload,
  isProcessEventInput,
  type ProcessEventInput,
  type ProcessEventResult,
  workflowNames,
} from '../workflows/contract.js';
import type { OperationsContext } from './context.js';
import { type NamedEvent, readEventName } from './read-event-name.js';

/** Who replays an event, and why. */
export interface ReplayOptions {
  /** Who asks for it; recorded. */
  readonly by: string;
  /** Why; recorded. */
  readonly reason: string;
  /** Default ''. */
  readonly tenant?: string;
  /** Identity of this wish: the same id again is the same wish, whose outcome is answered. Default: a new one. */
  readonly id?: string;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

/** What a replay does about one effect. */
export interface ReplayStep {
  readonly effect: string;
  /** Known once the event was planned. */
  readonly businessKey?: string;
  readonly action: 'skip' | 'perform';
  readonly because: string;
}

/** What came of a replay. */
export interface ReplayOutcome {
  /** `source/event-id`. */
  readonly event: string;
  readonly eventKey: string;
  /** Identity of the wish. */
  readonly id: string;
  /** Where the event stands, before: its state in the ledger and in Temporal. */
  readonly state: { readonly ledger: string; readonly temporal: string };
  readonly steps: readonly ReplayStep[];
  /**
   * `started`: a new run carries the rest. `nothing_to_do`: every effect is done. `lost_race`: another run of the event
   * was started meanwhile, and carries it. `dry_run`: nothing was changed.
   */
  readonly outcome: 'started' | 'nothing_to_do' | 'lost_race' | 'dry_run';
  readonly runId?: string;
}

/** The memo of a replayed run tells which wish it carries out, so that a repeated command finds it. */
interface ReplayMemo extends EventMemo {
  readonly replay: string;
}

/**
 * Between the dead letter and the end of its workflow lie a few milliseconds; a replay that comes in them waits for the
 * end instead of being refused as running.
 */
const closeWaitMs = 10_000;

/**
 * Runs an event again under its own identity: what is done stays done, the rest is performed. The wish is recorded as an
 * act of its own before anything is started, so that repeating the command is harmless and a second wish is carried out.
 *
 * @throws {OnefoldError} `identity_invalid`, `event_unknown`, `replay_refused` while the event is being processed,
 * `payload_missing` when neither ledger nor history has its body, `ledger_unavailable`.
 */
export async function replayEvent(
  context: OperationsContext,
  name: string,
  options: ReplayOptions,
): Promise<ReplayOutcome> {
  if (options.by.trim() === '' || options.reason.trim() === '') {
    throw new OnefoldError('replay_refused', 'a replay needs who asks for it and a reason');
  }
  const event = readEventName(name, options.tenant);
  const { query } = context.ledger.database;
  const { schema } = context.ledger;
  const id = options.id ?? randomUUID();
  const recorded = await readPlan(query, schema, event.tenant, event.eventKey);
  const execution = await closedExecution(context, event, recorded);
  if (!recorded && !execution) {
    throw new OnefoldError('event_unknown', `neither the ledger nor Temporal knows ${name}`);
  }
  const input = await inputOf(context, event, recorded, execution);
  const steps = stepsOf(context, input, recorded);
  const base = {
    event: `${event.source}/${event.id}`,
    eventKey: event.eventKey,
    id,
    state: { ledger: recorded?.state ?? 'unknown', temporal: execution?.status.name.toLowerCase() ?? 'forgotten' },
    steps,
  };
  if (options.dryRun) return { ...base, outcome: 'dry_run' };

  const fresh = await recordAct(query, schema, {
    tenant: event.tenant,
    id,
    kind: 'replay',
    eventKey: event.eventKey,
    actor: options.by,
    reason: options.reason,
    seen: JSON.stringify({ ...base.state, steps }),
    outcome: 'asked',
  });
  if (!fresh) {
    const earlier = await outcomeOfEarlier(context, event, id, execution);
    if (earlier) return { ...base, ...earlier };
  }
  const end = async (outcome: 'started' | 'nothing_to_do' | 'lost_race', runId?: string): Promise<ReplayOutcome> => {
    await setActOutcome(query, schema, { tenant: event.tenant, id, outcome });
    context.log.info(
      { eventKey: event.eventKey, event: base.event, act: id, by: options.by, outcome },
      'webhook.replayed',
    );
    return { ...base, outcome, ...(runId === undefined ? {} : { runId }) };
  };
  if (steps.every(({ action }) => action === 'skip')) return end('nothing_to_do');
  const runId = await start(context, event, execution, {
    ...input,
    effects: steps.map(({ effect }) => effect),
    replay: { id, by: options.by, reason: options.reason, at: new Date().toISOString() },
  });
  return runId === undefined ? end('lost_race') : end('started', runId);
}

/** The latest execution, closed; undefined where Temporal has forgotten it. */
async function closedExecution(
  context: OperationsContext,
  event: NamedEvent,
  recorded: RecordedEvent | undefined,
): Promise<WorkflowExecutionDescription | undefined> {
  const handle = context.client.workflow.getHandle(event.eventKey);
  const until = Date.now() + closeWaitMs;
  for (;;) {
    let execution: WorkflowExecutionDescription;
    try {
      execution = await handle.describe();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
    if (execution.status.name !== 'RUNNING') return execution;
    const ending = recorded !== undefined && recorded.state !== 'open';
    if (!ending || Date.now() > until) {
      throw new OnefoldError(
        'replay_refused',
        `${event.source}/${event.id} is being processed: end its pause with the signal retryNow, or abandon it first`,
      );
    }
    await sleep(50);
  }
}

/** The ledger's input first, since a run started by hand may have had another; else that of the latest history. */
async function inputOf(
  context: OperationsContext,
  event: NamedEvent,
  recorded: RecordedEvent | undefined,
  execution: WorkflowExecutionDescription | undefined,
): Promise<ProcessEventInput> {
  const fromLedger: unknown = recorded && JSON.parse(recorded.input);
  if (isProcessEventInput(fromLedger)) return fromLedger;
  const fromHistory = execution && (await readStartInput(context.client, execution));
  if (fromHistory) return fromHistory;
  throw new OnefoldError(
    'payload_missing',
    `neither the ledger nor Temporal has the input of ${event.source}/${event.id}`,
  );
}

function stepsOf(
  context: OperationsContext,
  input: ProcessEventInput,
  recorded: RecordedEvent | undefined,
): ReplayStep[] {
  const known = (recorded?.effects ?? []).map(({ effect, businessKey, ended }): ReplayStep => {
    const name = context.catalogue.effect(effect)?.name ?? effect;
    return ended
      ? { effect: name, businessKey, action: 'skip', because: ended.outcome }
      : { effect: name, businessKey, action: 'perform', because: 'not done' };
  });
  const subscribed = subscribedEffects(context.catalogue.effects, input.source, input.type);
  const added = subscribed.filter((effect) => !recorded?.effects.some((one) => one.effect === ledgerName(effect)));
  const because = recorded?.effects.length ? 'added since' : 'never planned';
  return [...known, ...added.map(({ name }): ReplayStep => ({ effect: name, action: 'perform', because }))];
}

/** A repeated command: what became of the first, or undefined where it was recorded and then crashed before starting. */
async function outcomeOfEarlier(
  context: OperationsContext,
  event: NamedEvent,
  id: string,
  execution: WorkflowExecutionDescription | undefined,
): Promise<Pick<ReplayOutcome, 'outcome' | 'runId'> | undefined> {
  const act = await readAct(context.ledger.database.query, context.ledger.schema, event.tenant, id);
  if (act && act.eventKey !== event.eventKey) {
    throw new OnefoldError('replay_refused', `the act ${id} is another event's`);
  }
  const started = (execution?.memo as Partial<ReplayMemo> | undefined)?.replay === id;
  if (started) return { outcome: 'started', runId: execution?.runId ?? '' };
  if (act?.outcome === 'asked') return undefined;
  return { outcome: (act?.outcome ?? 'started') as 'started' | 'nothing_to_do' | 'lost_race' };
}

/** @returns The new run's id, or undefined where another run was started meanwhile. */
async function start(
  context: OperationsContext,
  event: NamedEvent,
  execution: WorkflowExecutionDescription | undefined,
  input: ProcessEventInput & { readonly replay: { readonly id: string } },
): Promise<string | undefined> {
  const payload: EventPayload = input.payload;
  const memo: ReplayMemo = {
    digest: input.digest,
    id: input.id,
    type: input.type,
    receivedAt: input.receivedAt,
    replay: input.replay.id,
  };
  // An abandoned event is a completed execution, and only a replay may run it again; every other waits for a failed one.
  const completed = execution?.status.name === 'COMPLETED';
  try {
    const handle = await context.client.workflow.start<(input: ProcessEventInput) => Promise<ProcessEventResult>>(
      workflowNames.processEvent,
      {
        workflowId: event.eventKey,
        taskQueue: context.taskQueue,
        workflowIdReusePolicy: completed ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
        workflowIdConflictPolicy: 'FAIL',
        args: [{ ...input, payload }],
        memo: { ...memo },
        staticSummary: `replay · ${event.source}/${event.id} · ${input.type}`.slice(0, 200),
      },
    );
    return handle.firstExecutionRunId;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}
