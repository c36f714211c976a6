import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { buildEvent } from '../effects/build-event.js';
import { carryLocalAttempt } from '../effects/carry-attempt.js';
import { effectFor } from '../effects/catalogue.js';
import { classifyFailure } from '../effects/classify-failure.js';
import type { Effect } from '../effects/effect.js';
import { payloadText } from '../effects/plan-event.js';
import { travellingResult } from '../effects/travelling-result.js';
import { OnefoldError } from '../errors.js';
import { businessKey } from '../identity/business-identity.js';
import { displayEvent } from '../identity/event-identity.js';
import { orAborted } from '../runtime/or-aborted.js';
import type { AttemptAnswer, AttemptPolicy, EffectEnd, EventPayload } from '../workflows/contract.js';
import { attemptFailure } from './attempt-failure.js';
import type { ActivityDependencies } from './dependencies.js';
import type { EventRef } from './event-ref.js';
import { mayRunLocally } from './late-start.js';
import { thrownAt } from './thrown-at.js';

/** The argument of the `attemptEffect` activity. */
export interface AttemptEffectArgument {
  readonly event: EventRef;
  readonly payload: EventPayload;
  readonly effect: string;
  readonly businessKey: string;
  /** The plan's numbers: what is configured by now is for events planned from now on. */
  readonly policy: Pick<AttemptPolicy, 'timeoutMs' | 'nonRetryableErrorTypes'>;
  /** How many effects the event has; they share what may travel of their results. */
  readonly effects: number;
  /** Counted from 1, over all runs that continued as new. */
  readonly attempt: number;
  readonly runId: string;
  /** Start of the run, Unix ms; absent where it runs as a regular activity. */
  readonly runStartedAt?: number;
}

/** How often a regular attempt tells the server that its worker lives. */
const heartbeatEveryMs = 2000;

/** Makes the activity that carries one attempt of one effect. A failed attempt throws; the history keeps its reason. */
export function createAttemptEffect(deps: ActivityDependencies) {
  return async function attemptEffect(argument: AttemptEffectArgument): Promise<AttemptAnswer> {
    const { event: ref, attempt, runId, runStartedAt } = argument;
    const effect = effectFor(deps.catalogue, argument.effect, ref);
    const named = {
      eventKey: ref.eventKey,
      event: displayEvent(ref),
      effect: argument.effect,
      businessKey: argument.businessKey,
      attempt,
    };
    const began = Date.now();
    try {
      if (
        runStartedAt !== undefined &&
        !(await mayRunLocally(deps.ledger, { ...ref, runId, name: `attempt:${argument.effect}`, runStartedAt }))
      ) {
        return { kind: 'use_regular' };
      }
      // Between plan and attempt a deploy may have taken the effect away; a worker that has it will do it.
      if (!effect) {
        throw new OnefoldError('effect_unknown', `this worker has no effect '${argument.effect}' for '${ref.type}'`);
      }
      const end = await carry(deps, effect, argument);
      deps.metrics.attempts.inc({ effect: effect.name, ended: end.outcome });
      deps.metrics.effects.inc({ effect: effect.name, outcome: end.outcome });
      if (end.otherData) {
        deps.metrics.otherData.inc({ effect: effect.name });
        deps.log.warn({ ...named, doneBy: end.doneBy, code: 'other_data' }, 'effect.other_data');
      }
      deps.log.info({ ...named, outcome: end.outcome, doneBy: end.doneBy, ms: Date.now() - began }, 'effect.done');
      return { kind: 'ended', end };
    } catch (error) {
      const detail = classifyFailure(error, argument.policy.nonRetryableErrorTypes);
      deps.metrics.attempts.inc({ effect: argument.effect, ended: detail.code });
      deps.log.warn(
        { ...named, code: detail.code, permanent: detail.permanent, ...thrownAt(error), ms: Date.now() - began },
        detail.counted ? 'effect.failed' : 'effect.waiting',
      );
      throw attemptFailure(detail);
    }
  };
}

async function carry(deps: ActivityDependencies, effect: Effect, argument: AttemptEffectArgument): Promise<EffectEnd> {
  const { event: ref, runStartedAt } = argument;
  const { timeoutMs } = argument.policy;
  const source = deps.catalogue.source(ref.source);
  if (!source) throw new OnefoldError('effect_unknown', `this worker has no source '${ref.source}'`);
  const stop = attemptSignal(timeoutMs, runStartedAt === undefined, deps.graceOver);
  const carryUnder = async (signal: AbortSignal): Promise<EffectEnd> => {
    const json = await payloadText(deps.ledger, ref.eventKey, ref.tenant, ref.digest, argument.payload);
    const { event, dataDigest } = await buildEvent(source, ref, json);
    const { result, ...end } = await carryLocalAttempt(deps.ledger, {
      effect,
      event,
      dataDigest,
      eventKey: ref.eventKey,
      businessKey: businessKey(argument.businessKey),
      attempt: argument.attempt,
      owner: randomUUID(),
      timeoutMs,
      signal,
    });
    return {
      // Under the name it was planned by, whatever it is called by now.
      effect: argument.effect,
      businessKey: argument.businessKey,
      attempts: argument.attempt,
      ...end,
      ...(result ? { result: travellingResult(result, argument.effects) } : {}),
    };
  };
  try {
    // All of it, the reading of the body and the user's schema included: whatever hangs must not hold the slot.
    return await orAborted(carryUnder(stop.signal), stop.signal);
  } finally {
    stop.release();
  }
}

/**
 * Aborts at the timeout, on cancellation, and at shutdown, with the error that the attempt shall fail with. A regular
 * attempt also beats, so that a dead worker is noticed in seconds and a cancellation reaches a living one.
 */
function attemptSignal(
  timeoutMs: number,
  regular: boolean,
  graceOver: AbortSignal,
): { signal: AbortSignal; release: () => void } {
  const context = Context.current();
  const controller = new AbortController();
  const abort = (code: 'attempt_timed_out' | 'cancelled' | 'worker_shutdown', message: string): void =>
    controller.abort(new OnefoldError(code, message));
  const timer = setTimeout(
    () => abort('attempt_timed_out', `the attempt exceeded its timeout of ${timeoutMs} ms`),
    timeoutMs,
  );
  const beat = regular ? setInterval(() => context.heartbeat(), heartbeatEveryMs) : undefined;
  const onShutdown = (): void => abort('worker_shutdown', 'the worker is stopping');
  const onCancel = (): void => {
    if (context.cancellationDetails?.workerShutdown) onShutdown();
    else abort('cancelled', 'the attempt was cancelled');
  };
  const listened = [
    [context.cancellationSignal, onCancel],
    [graceOver, onShutdown],
  ] as const;
  for (const [signal, listener] of listened) {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener, { once: true });
  }
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer);
      clearInterval(beat);
      for (const [signal, listener] of listened) signal.removeEventListener('abort', listener);
    },
  };
}
