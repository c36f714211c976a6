import { ApplicationFailure, CancellationScope, CancelledFailure } from '@temporalio/workflow';
import { localAttempts, plans, serverMarginMs } from './activities.js';
import type { AttemptPolicy, FailureDetail, PlanAnswer, PlannedEvent } from './contract.js';
import type { EventRun } from './event-run.js';
import { keepReason } from './keep-reason.js';
import { pause } from './pause.js';
import { backoffMs, inWords, waitMs } from './pauses.js';
import { readFailure } from './read-failure.js';

/**
 * Planning has no plan to take its numbers from. A failing plan is mostly a fault in a business key function, which a
 * deploy mends: the pauses reach over a weekend.
 */
const planningPolicy: Omit<AttemptPolicy, 'nonRetryableErrorTypes' | 'maximumElapsedMs'> = {
  initialIntervalMs: 5000,
  backoffCoefficient: 4,
  maximumIntervalMs: 8 * 3_600_000,
  maximumAttempts: 15,
  timeoutMs: 30_000,
};

/** What planning came to: a plan, the last failure, or undefined where the event continues as new first. */
export type Planning = { readonly plan: PlannedEvent } | { readonly failure: FailureDetail } | undefined;

/**
 * Plans the event, in the worker that holds the workflow task while that is safe, else as a regular activity. Failures
 * are attempts; a worker that lacks an effect is waited out without counting.
 */
export async function carryPlan(run: EventRun): Promise<Planning> {
  let local = run.planning.attempts === 0 && run.planning.waits === 0;
  for (;;) {
    const number = run.planning.attempts + 1;
    try {
      const answer = await plan(run, number, local);
      if (answer.kind === 'planned') return { plan: answer.plan };
      if (answer.kind === 'use_regular') {
        local = false;
        continue;
      }
      run.planning.waits += 1;
      const delayMs = waitMs(run.planning.waits, Math.random());
      const names = answer.names.join(', ') || `source ${run.input.source}`;
      if (!(await pauseFor(run, delayMs, `waiting for a worker that has ${names}`))) return undefined;
    } catch (error) {
      if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('stopped while planning');
      const failure = readFailure(error);
      run.planning.attempts += failure.counted ? 1 : 0;
      run.planning.waits += failure.counted ? 0 : 1;
      keepReason(run.planning.reasons, number, failure);
      if (failure.permanent || run.planning.attempts >= planningPolicy.maximumAttempts) return { failure };
      const delayMs = failure.counted
        ? backoffMs(planningPolicy, run.planning.attempts, Math.random(), failure.retryAfterMs)
        : waitMs(run.planning.waits, Math.random(), failure.retryAfterMs);
      if (!(await pauseFor(run, delayMs, failure.code))) return undefined;
    }
    local = false;
  }
}

async function plan(run: EventRun, number: number, local: boolean): Promise<PlanAnswer> {
  const { eventKey, runId, startedAt } = run;
  const { carried: _carried, ...input } = run.input;
  const startToCloseTimeout = planningPolicy.timeoutMs + serverMarginMs;
  if (local) {
    return localAttempts.planEvent.executeWithOptions({ startToCloseTimeout, summary: 'plan' }, [
      { eventKey, runId, input, runStartedAt: startedAt },
    ]);
  }
  const summary = `plan, attempt ${number} of ${planningPolicy.maximumAttempts}`;
  const answer: unknown = await plans.planEvent.executeWithOptions({ startToCloseTimeout, summary }, [
    { eventKey, runId, input },
  ]);
  // A hand can complete a regular activity with anything; the plan is the ledger's, so it is simply asked for again.
  const { kind } = (answer ?? {}) as Partial<PlanAnswer>;
  if (kind === 'planned' || kind === 'effects_unknown') return answer as PlanAnswer;
  throw ApplicationFailure.create({ type: 'result_unrecognised', message: 'the plan is not in our shape' });
}

function pauseFor(run: EventRun, delayMs: number, why: string): Promise<boolean> {
  return pause(run, '', Date.now() + delayMs, `planning again in ${inWords(delayMs)}: ${why}`);
}
