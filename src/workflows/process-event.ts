import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  continueAsNew,
  isCancellation,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { cutText } from '../identity/cut-text.js';
import { displayEvent, parseEventKey } from '../identity/event-identity.js';
import { records } from './activities.js';
import { answerAbandon } from './answer-abandon.js';
import { carryEffect } from './carry-effect.js';
import { carryPlan } from './carry-plan.js';
import {
  type CarriedState,
  type EffectEnd,
  type EventOutcome,
  inputBelongsTo,
  isProcessEventInput,
  type ProcessEventInput,
  type ProcessEventResult,
  unknownDigest,
} from './contract.js';
import { deadLetterOf } from './dead-letter-of.js';
import { endFor } from './end-for.js';
import { createEventRun, type EventRun, endsOf, eventRef } from './event-run.js';
import { installHandlers } from './handlers.js';
import { logLine } from './log-line.js';
import { showState } from './show-state.js';

/**
 * Carries one event: plans it, then takes each of its effects through its own attempts, side by side. Its workflow ID is
 * the event identity, so that deliveries of one event meet here.
 *
 * Ends: completed with each effect's outcome; completed as abandoned by a person; failed, after its dead letter was
 * written. Everything stands inside one catch, since an error that escapes workflow code keeps the run running for ever.
 */
export async function processEvent(given: ProcessEventInput): Promise<ProcessEventResult> {
  const input =
    isProcessEventInput(given) && inputBelongsTo(workflowInfo().workflowId, given)
      ? knownFields(given)
      : stranger(given);
  try {
    return await carryEvent(createEventRun(input));
  } catch (error) {
    if (error instanceof TemporalFailure || error instanceof ContinueAsNew) throw error;
    // Not even the ending could cope with what this run carries, so the dead letter is written without it.
    const { carried: _carried, ...rest } = input;
    return CancellationScope.nonCancellable(() => fail(createEventRun(rest), 'internal_error', describe(error)));
  }
}

async function carryEvent(run: EventRun): Promise<ProcessEventResult> {
  installHandlers(run);
  if (run.input.digest === unknownDigest) {
    return fail(run, 'input_malformed', 'started by hand with an input that is not an event of this workflow ID');
  }
  let failure: { code: string; message: string } | undefined;
  try {
    failure = await work(run);
  } catch (error) {
    if (!isCancellation(error)) {
      failure = { code: 'internal_error', message: describe(error) };
    } else if (!run.abandon) {
      // Cancelled from outside: nobody else will write it down, and a redelivery may never come.
      return CancellationScope.nonCancellable(() => endCancelled(run));
    }
  }
  return CancellationScope.nonCancellable(() => finish(run, failure));
}

async function endCancelled(run: EventRun): Promise<never> {
  run.phase = 'ending';
  await deadLetter(run, 'cancelled', 'cancelled from outside');
  await condition(allHandlersFinished);
  throw new CancelledFailure('cancelled from outside');
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
}

/** Plans and carries all effects; resolves with the failure of planning, if that is what ended it. */
async function work(run: EventRun): Promise<{ code: string; message: string } | undefined> {
  const scope = new CancellationScope();
  run.stopWork = () => scope.cancel();
  return scope.run(async () => {
    if (!run.plan) {
      const planning = await carryPlan(run);
      if (!planning) return undefined;
      if ('failure' in planning) return planning.failure;
      run.plan = planning.plan;
      run.progress = planning.plan.effects.map((planned) => ({ planned, attempts: 0, waits: 0, reasons: [] }));
    }
    run.phase = 'running';
    // Every effect is seen to its end even when a sibling was stopped: an attempt still running may yet take hold.
    const carried = await Promise.allSettled(run.progress.map((progress) => carryEffect(run, progress)));
    for (const one of carried) if (one.status === 'rejected') throw one.reason;
    if (run.progress.some(({ ended }) => ended?.code === 'abandoned')) return planAnew(run);
    return undefined;
  });
}

/**
 * The ledger has the event as abandoned, although this run was to carry it: it was reset to a moment before that. Planning
 * anew answers who abandoned it, and why.
 */
async function planAnew(run: EventRun): Promise<{ code: string; message: string } | undefined> {
  const planning = await carryPlan(run);
  if (planning && 'failure' in planning) return planning.failure;
  if (planning?.plan.abandoned) run.plan = planning.plan;
  return undefined;
}

async function finish(
  run: EventRun,
  failure: { code: string; message: string } | undefined,
): Promise<ProcessEventResult> {
  if (run.abandon) {
    const answer = await answerAbandon(run);
    if (answer.abandoned) return complete(run, 'abandoned', run.abandon.request);
  }
  if (run.rollingOver && !failure && !run.plan?.abandoned) {
    // The next run would not know of it.
    if (run.isCancelled()) return endCancelled(run);
    // A wish to abandon that comes in now is still heard: its handler waits for this run's answer.
    await condition(() => allHandlersFinished() || run.abandon !== undefined);
    if (run.abandon) return finish(run, failure);
    const { carried: _carried, ...input } = run.input;
    return continueAsNew<typeof processEvent>({ ...input, carried: carriedState(run) });
  }
  run.phase = 'ending';
  if (failure) return fail(run, failure.code, failure.message);
  if (run.plan?.abandoned) return complete(run, 'abandoned', run.plan.abandoned);
  const failed = endsOf(run).filter(({ outcome }) => outcome === 'failed');
  const [first] = failed;
  if (first) return fail(run, first.code ?? 'effect_failed', `${first.effect}: ${first.message ?? 'failed'}`);
  return complete(run, eventOutcome(endsOf(run)));
}

/** Writes the dead letter, then fails the workflow, so that Temporal's own lists and alerts see it too. */
async function fail(run: EventRun, code: string, message: string): Promise<ProcessEventResult> {
  run.phase = 'ending';
  const { opened } = await deadLetter(run, code, message);
  if (!opened && (await endedAfterAll(run))) return complete(run, eventOutcome(endsOf(run)));
  showState(run, 'dead_lettered');
  logLine('warn', 'webhook.failed', { ...named(run), code });
  await condition(allHandlersFinished);
  throw ApplicationFailure.create({
    type: code,
    message: cutText(message, 1000),
    nonRetryable: true,
    details: [endsOf(run)],
  });
}

/** The ledger refused the dead letter: it has the event as done, by an attempt whose answer was lost. */
async function endedAfterAll(run: EventRun): Promise<boolean> {
  const ends = await records.readEffectEnds(eventRef(run));
  for (const progress of run.progress) {
    const known = endFor(run, ends, progress.planned);
    if (known) progress.ended = { ...known, attempts: progress.attempts };
  }
  return run.progress.length > 0 && run.progress.every(({ ended }) => ended && ended.outcome !== 'failed');
}

async function complete(
  run: EventRun,
  outcome: EventOutcome,
  abandoned?: { readonly by: string; readonly reason: string },
): Promise<ProcessEventResult> {
  run.phase = 'ending';
  showState(run, outcome === 'abandoned' ? 'abandoned' : 'done');
  logLine('info', 'webhook.done', { ...named(run), outcome });
  await condition(allHandlersFinished);
  return {
    version: 1,
    event: displayEvent(run.input),
    outcome,
    effects: endsOf(run),
    ...(abandoned ? { abandoned: { by: abandoned.by, reason: abandoned.reason } } : {}),
  };
}

function deadLetter(run: EventRun, code: string, message: string): Promise<{ readonly opened: boolean }> {
  const letter = deadLetterOf(run, code, message);
  return records.recordDeadLetter.executeWithOptions({ summary: `dead letter: ${code}` }, [letter]);
}

function named(run: EventRun): Record<string, unknown> {
  return {
    eventKey: run.eventKey,
    event: displayEvent(run.input),
    attempts: endsOf(run).reduce((sum, { attempts }) => sum + attempts, 0),
  };
}

/** Of several effects, one that was done makes the event done; else it is what they all are, but for those that only looked. */
function eventOutcome(ends: readonly EffectEnd[]): EventOutcome {
  const outcomes = new Set(ends.map(({ outcome }) => outcome));
  if (outcomes.size > 1) outcomes.delete('observed');
  const [only] = outcomes;
  return outcomes.size === 1 && (only === 'already_done' || only === 'stale' || only === 'observed') ? only : 'done';
}

/** The state for the next run, with each result once, since it is that run's argument. */
function carriedState(run: EventRun): CarriedState {
  const progress = run.progress.map(({ planned: { ended: _ended, ...planned }, ...rest }) => ({ ...rest, planned }));
  return { ...(run.plan ? { plan: { ...run.plan, effects: [] } } : {}), progress, planning: run.planning };
}

/** Enough of an event to write a dead letter for an input that is none. */
function stranger(given: unknown): ProcessEventInput {
  const { workflowId, startTime } = workflowInfo();
  const parsed = parseEventKey(workflowId);
  return {
    version: 1,
    tenant: parsed?.tenant ?? '',
    source: parsed?.source ?? 'unknown',
    id: parsed?.id ?? workflowId,
    type: 'unknown',
    digest: unknownDigest,
    receivedAt: startTime.toISOString(),
    payload: { text: excerpt(given) },
    effects: [],
  };
}

/** Only what an input is made of: a hand may have added anything, such as what no JSON writer survives. */
function knownFields(given: ProcessEventInput): ProcessEventInput {
  const { version, tenant, source, id, type, digest, receivedAt, occurredAt, effects, replay, carried } = given;
  return {
    version,
    tenant,
    source,
    id,
    type,
    digest,
    receivedAt,
    payload: 'text' in given.payload ? { text: given.payload.text } : { stored: true },
    effects,
    ...(typeof occurredAt === 'string' ? { occurredAt } : {}),
    ...(replay
      ? {
          replay: {
            id: replay.id,
            by: replay.by,
            reason: replay.reason,
            at: replay.at,
            ...(Array.isArray(replay.rekey) ? { rekey: replay.rekey } : {}),
          },
        }
      : {}),
    ...(carried ? { carried } : {}),
  };
}

function excerpt(given: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(given ?? null) ?? 'null';
  } catch {
    // Nested deeper than the writer can follow.
    return '"unreadable"';
  }
  return text.length <= 100_000 ? text : JSON.stringify(text.slice(0, 100_000));
}
