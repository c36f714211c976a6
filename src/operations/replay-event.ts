import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { OnefoldError } from '../errors.js';
import { displayEvent } from '../identity/event-identity.js';
import { readAct, recordAct, setActOutcome } from '../ledger/record-act.js';
import { storePayload } from '../ledger/store-payload.js';
import { eventStartOptions, type ProcessEvent } from '../runtime/event-start-options.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { readSearchAttributes } from '../runtime/temporal.js';
import { type ProcessEventInput, workflowNames } from '../workflows/contract.js';
import { addedEffect } from './added-effect.js';
import type { OperationsContext } from './context.js';
import { type EventState, readClosedState, readEventState } from './event-state.js';
import { findMissingBody } from './find-missing-body.js';
import { findReplayRun } from './find-replay-run.js';
import { operationFailure } from './operation-failure.js';
import { type NamedEvent, readEventName } from './read-event-name.js';
import { recomputeKeys } from './recompute-keys.js';
import { rekeyings } from './rekeyings.js';
import { replayInput } from './replay-input.js';
import { hasEnded, type ReplayStep, replayedEffects, replaySteps } from './replay-steps.js';

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
  /** Effects that have not ended take the business keys that the code computes now, where these differ. */
  readonly rekey?: boolean;
  /** Run only this effect, which subscribed to the type after the event was done. */
  readonly effect?: string;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

const known: readonly (keyof ReplayOptions)[] = ['by', 'reason', 'tenant', 'id', 'rekey', 'effect', 'dryRun'];

/** What came of a replay. */
export interface ReplayOutcome {
  /** `source/event-id`. */
  readonly event: string;
  readonly eventKey: string;
  /** Identity of the wish. */
  readonly id: string;
  /** Where the event stood: its state in the ledger and in Temporal. */
  readonly state: { readonly ledger: string; readonly temporal: string };
  /** What was to be done about each effect. */
  readonly steps: readonly ReplayStep[];
  /**
   * `started`: a new run carries the rest. `nothing_to_do`: every effect is done. `lost_race`: another run of the event
   * was started meanwhile, and carries it. `dry_run`: nothing was changed.
   */
  readonly outcome: 'started' | 'nothing_to_do' | 'lost_race' | 'dry_run';
  readonly runId?: string;
}

/** Everything a replay asks of Temporal, the wait for an ending run included. */
const temporalWithinMs = 30_000;

/**
 * Runs an event again under its own identity: what is done stays done, the rest is performed. The wish is recorded as an
 * act of its own before anything is started, so that repeating the command is harmless and a second wish is carried out.
 *
 * Of several wishes at once, the uniqueness of the workflow ID lets one start a run; the others have lost the race. Only
 * where the last run completed (an abandoned event, or an effect added since) may one that comes after the new run's end
 * start another, in which the ledger finds nothing left to do.
 *
 * Where the code computes other business keys for effects that have not ended, a replay is refused unless it is told to
 * rekey them; and that is refused where the effect may have happened under its old key.
 *
 * With `effect`, only that one runs, for an event that is done or was recorded without effects; what else subscribed to its
 * type since does not.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option, `identity_invalid`, `event_unknown`, `replay_refused`
 * while the event is being processed, where it must not be rekeyed, and for one effect of an event that is not done;
 * `effect_unknown`, `keys_differ`, `payload_missing` when neither ledger nor history has its body, `temporal_unavailable`,
 * `ledger_unavailable`, `migration_missing`.
 */
export async function replayEvent(
  context: OperationsContext,
  name: string,
  options: ReplayOptions,
): Promise<ReplayOutcome> {
  refuseUnknownOptions(options, known, 'replay');
  if (options.by.trim() === '' || options.reason.trim() === '' || options.id?.trim() === '') {
    throw new OnefoldError('replay_refused', 'a replay needs who asks for it, a reason, and an id that is not blank');
  }
  const event = readEventName(name, options.tenant);
  try {
    return await context.client.withDeadline(Date.now() + temporalWithinMs, () => replay(context, event, options));
  } catch (error) {
    throw operationFailure(error);
  }
}

async function replay(context: OperationsContext, event: NamedEvent, options: ReplayOptions): Promise<ReplayOutcome> {
  const { query } = context.ledger.database;
  const { schema } = context.ledger;
  const { by, reason, id = randomUUID() } = options;
  const earlier = options.id === undefined || options.dryRun ? undefined : await outcomeOfEarlier(context, event, id);
  if (earlier) return earlier;

  const state = await readClosedState(context, event);
  const input = await replayInput(context, event, state);
  const { recorded } = state;
  const effects =
    options.effect === undefined
      ? replayedEffects(context.catalogue, input, recorded)
      : [addedEffect(context.catalogue, event, recorded, options.effect)];
  if (effects.length === 0) {
    throw new OnefoldError('replay_refused', `no effect subscribes to '${input.type}' of source '${input.source}'`);
  }
  const done = effects.every((effect) => effect.recorded && hasEnded(context.catalogue, effect.recorded));
  const missingBody = done ? undefined : await findMissingBody(context, event, input, state.execution);
  const keys = await recomputeKeys(context, recorded, input, missingBody);
  const rekey = await rekeyings(context, recorded, keys, options.rekey === true);
  const isPlanned = recorded !== undefined && recorded.effects.length > 0;
  const steps = await replaySteps(context, { tenant: event.tenant, isPlanned }, effects, keys, rekey);
  const seen: Seen = {
    state: { ledger: recorded?.state ?? 'unknown', temporal: temporalState(state) },
    steps,
  };
  if (options.dryRun) return { ...named(event, id), ...seen, outcome: 'dry_run' };

  await recordAct(query, schema, {
    tenant: event.tenant,
    id,
    kind: 'replay',
    eventKey: event.eventKey,
    actor: by,
    reason,
    seen: JSON.stringify(seen),
    outcome: 'asked',
  });
  if (done) return end(context, event, options, id, seen, { outcome: 'nothing_to_do' });
  if (missingBody !== undefined) {
    const { tenant, eventKey } = event;
    await storePayload(query, schema, { tenant, eventKey, digest: input.digest, body: Buffer.from(missingBody) });
  }
  const runId = await start(context, event, state, {
    ...input,
    effects: effects.map(({ name }) => name),
    replay: { id, by, reason, at: new Date().toISOString(), ...(rekey.length > 0 ? { rekey } : {}) },
  });
  return end(
    context,
    event,
    options,
    id,
    seen,
    runId === undefined ? { outcome: 'lost_race' } : { outcome: 'started', runId },
  );
}

/** What a wish was shown before it was carried out; kept with its act. */
type Seen = Pick<ReplayOutcome, 'state' | 'steps'>;

function named(event: NamedEvent, id: string): Pick<ReplayOutcome, 'event' | 'eventKey' | 'id'> {
  return { event: displayEvent(event), eventKey: event.eventKey, id };
}

function temporalState({ execution }: EventState): string {
  return execution?.status.name.toLowerCase() ?? 'forgotten';
}

/**
 * A repeated command: what became of the first, while its run is still under way as well as later. Undefined where the
 * act was never recorded, or was recorded by a process that died before it started anything.
 */
async function outcomeOfEarlier(
  context: OperationsContext,
  event: NamedEvent,
  id: string,
): Promise<ReplayOutcome | undefined> {
  const { database, schema } = context.ledger;
  const act = await readAct(database.query, schema, event.tenant, id);
  if (!act) return undefined;
  if (act.eventKey !== event.eventKey || act.kind !== 'replay') {
    throw new OnefoldError('replay_refused', `the id ${id} is that of another act: ${act.kind} of ${act.eventKey}`);
  }
  const { execution } = await readEventState(context, event);
  const runId = await findReplayRun(context, event.eventKey, execution, id);
  if (act.outcome === 'asked' && runId === undefined) return undefined;
  if (act.outcome === 'asked') {
    await setActOutcome(database.query, schema, { tenant: event.tenant, id, outcome: 'started' });
  }
  return {
    ...named(event, id),
    ...(JSON.parse(act.seen) as Seen),
    outcome: runId === undefined ? (act.outcome as ReplayOutcome['outcome']) : 'started',
    ...(runId === undefined ? {} : { runId }),
  };
}

/** Writes down how the act went on, and says it. */
async function end(
  context: OperationsContext,
  event: NamedEvent,
  { by, reason }: ReplayOptions,
  id: string,
  seen: Seen,
  ended: Pick<ReplayOutcome, 'outcome' | 'runId'>,
): Promise<ReplayOutcome> {
  const { database, schema } = context.ledger;
  const { eventKey, tenant } = event;
  await setActOutcome(database.query, schema, { tenant, id, outcome: ended.outcome });
  const { outcome, runId } = ended;
  context.log.info({ eventKey, event: displayEvent(event), act: id, by, reason, outcome, runId }, 'webhook.replayed');
  return { ...named(event, id), ...seen, ...ended };
}

/** @returns The new run's id, or undefined where another run was started meanwhile. */
async function start(
  context: OperationsContext,
  event: NamedEvent,
  { execution }: EventState,
  input: ProcessEventInput & { readonly replay: { readonly id: string } },
): Promise<string | undefined> {
  const { client, namespace, taskQueue } = context;
  // Without the list the run is merely not found by its source and type.
  const registered = await readSearchAttributes(client, namespace).catch(() => new Set<string>());
  // An event that was abandoned, or gains an effect, is a completed execution, and only a replay may run it again; every
  // other must be one that failed still.
  const completed = execution?.status.name === 'COMPLETED';
  try {
    const handle = await client.workflow.start<ProcessEvent>(workflowNames.processEvent, {
      ...eventStartOptions({ eventKey: event.eventKey, event: displayEvent(event), input, taskQueue, registered }),
      workflowIdReusePolicy: completed ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'FAIL',
    });
    return handle.firstExecutionRunId;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    // The same wish may have been carried out by the same command, given twice at once.
    const { execution: now } = await readEventState(context, event);
    return findReplayRun(context, event.eventKey, now, input.replay.id);
  }
}
