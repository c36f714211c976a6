import { AttemptVanished } from '../effects/attempt-steps.js';
import { effectFor } from '../effects/catalogue.js';
import { classifyFailure } from '../effects/classify-failure.js';
import { OnefoldError } from '../errors.js';
import { displayEvent } from '../identity/event-identity.js';
import type { AttemptAnswer, AttemptPolicy, EffectEnd, EventPayload, FailureDetail } from '../workflows/contract.js';
import { attemptFailure } from './attempt-failure.js';
import { carryExternal, carryLocal } from './carry-attempt.js';
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

/** Makes the activity that carries one attempt of one effect. A failed attempt throws; the history keeps its reason. */
export function createAttemptEffect(deps: ActivityDependencies) {
  return async function attemptEffect(argument: AttemptEffectArgument): Promise<AttemptAnswer> {
    const { event: ref, runId, runStartedAt } = argument;
    const effect = effectFor(deps.catalogue, argument.effect, ref);
    const began = Date.now();
    const tell = attemptTeller(deps, argument, began);
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
      // Whoever planned it took it for a local write; its calls belong into the history one by one.
      if (effect.kind === 'external' && runStartedAt !== undefined) return { kind: 'use_regular' };
      const answer =
        effect.kind === 'local'
          ? ({ kind: 'ended', end: await carryLocal(deps, effect, argument) } as const)
          : await carryExternal(deps, effect, argument, began);
      if (answer.kind === 'failed') throw tell.failed(answer.detail, answer.thrown);
      if (answer.kind === 'ended') {
        tell.ended(answer.end);
        return answer;
      }
      const { thrown, ...parked } = answer;
      tell.parked(parked.fence, thrown);
      return parked;
    } catch (error) {
      if (error instanceof ToldFailure) throw attemptFailure(error.detail);
      if (error instanceof AttemptVanished) throw attemptFailure(vanished(error));
      const told = tell.failed(classifyFailure(error, argument.policy.nonRetryableErrorTypes), error);
      throw attemptFailure(told.detail);
    }
  };
}

/** What the server would have said of an attempt whose process died. */
function vanished({ message }: AttemptVanished): FailureDetail {
  return { code: 'attempt_timed_out', message, permanent: false, counted: true };
}

/** A failed attempt after log and metrics have told it. */
class ToldFailure extends Error {
  constructor(readonly detail: FailureDetail) {
    super(detail.code);
  }
}

/** Tells in log and metrics how an attempt came out. */
function attemptTeller(deps: ActivityDependencies, argument: AttemptEffectArgument, began: number) {
  const { event: ref, attempt, effect, businessKey } = argument;
  const named = { eventKey: ref.eventKey, event: displayEvent(ref), effect, businessKey, attempt };
  const { attempts, effects, otherData, equalVersions, unknownOutcomes, parked } = deps.metrics;
  return {
    ended(end: EffectEnd): void {
      attempts.inc({ effect, ended: end.outcome });
      effects.inc({ effect, outcome: end.outcome });
      const { outcome, doneBy, equalTo } = end;
      if (end.otherData) {
        otherData.inc({ effect });
        deps.log.warn({ ...named, doneBy, code: 'other_data' }, 'effect.other_data');
      }
      if (equalTo !== undefined) {
        equalVersions.inc({ effect });
        deps.log.warn({ ...named, equalTo, code: 'equal_version' }, 'effect.equal_version');
      }
      if (end.code !== undefined) {
        unknownOutcomes.inc({ effect });
        deps.log.warn({ ...named, outcome, doneBy, code: end.code }, 'effect.outcome_unknown');
      }
      deps.log.info({ ...named, outcome, doneBy, ms: Date.now() - began }, 'effect.done');
    },
    parked(fence: number, thrown: unknown): void {
      attempts.inc({ effect, ended: 'parked' });
      parked.inc({ effect });
      deps.log.warn(
        { ...named, fence, code: 'effect_parked', ...thrownAt(thrown), ms: Date.now() - began },
        'effect.parked',
      );
    },
    failed(detail: FailureDetail, thrown: unknown): ToldFailure {
      const { code, permanent, counted, outcomeUnknown } = detail;
      attempts.inc({ effect, ended: code });
      if (outcomeUnknown) unknownOutcomes.inc({ effect });
      const line = outcomeUnknown ? 'effect.outcome_unknown' : counted ? 'effect.failed' : 'effect.waiting';
      deps.log.warn({ ...named, code, permanent, ...thrownAt(thrown), ms: Date.now() - began }, line);
      return new ToldFailure(detail);
    },
  };
}
