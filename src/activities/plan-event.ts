import { classifyFailure } from '../effects/classify-failure.js';
import type { Observation } from '../effects/observe-effect.js';
import { planEvent } from '../effects/plan-event.js';
import { displayEvent } from '../identity/event-identity.js';
import { orAborted } from '../runtime/or-aborted.js';
import type { PlanAnswer, ProcessEventInput } from '../workflows/contract.js';
import { attemptFailure } from './attempt-failure.js';
import type { ActivityDependencies } from './dependencies.js';
import { mayRunLocally } from './late-start.js';

/** The argument of the `planEvent` activity. */
export interface PlanEventArgument {
  readonly eventKey: string;
  readonly input: ProcessEventInput;
  readonly runId: string;
  /** Start of the run, Unix ms; absent where it runs as a regular activity. */
  readonly runStartedAt?: number;
}

/**
 * A plan computes keys and runs a statement or two; what takes longer hangs, in the user's schema or on the way to
 * PostgreSQL. Below the workflow's own limit, so that the reason comes from here.
 */
const planWithinMs = 30_000;

/** Makes the activity that plans an event. Its failures are attempts of planning, with a code and a reason. */
export function createPlanEvent(deps: ActivityDependencies) {
  return async function plan({ eventKey, input, runId, runStartedAt }: PlanEventArgument): Promise<PlanAnswer> {
    try {
      if (
        runStartedAt !== undefined &&
        !(await mayRunLocally(deps.ledger, { tenant: input.tenant, eventKey, runId, name: 'plan', runStartedAt }))
      ) {
        return { kind: 'use_regular' };
      }
      const onObserved = ({ effect, would, ...seen }: Observation): void => {
        deps.metrics.observed.inc({ effect, would });
        deps.log.info({ eventKey, event: displayEvent(input), effect, would, ...seen }, 'effect.observed');
      };
      const planning = planEvent(deps, eventKey, input, onObserved);
      const answer = await orAborted(planning, AbortSignal.timeout(planWithinMs));
      if (answer.kind === 'effects_unknown') {
        deps.metrics.planningWaits.inc({ source: input.source });
        deps.log.warn(
          { eventKey, event: displayEvent(input), source: input.source, effects: answer.names, code: 'effect_unknown' },
          'webhook.waiting',
        );
      }
      return answer;
    } catch (error) {
      const detail = classifyFailure(error, []);
      deps.log.warn(
        { eventKey, event: displayEvent(input), source: input.source, code: detail.code, permanent: detail.permanent },
        'webhook.plan_failed',
      );
      throw attemptFailure(detail);
    }
  };
}
