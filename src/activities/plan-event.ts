import { classifyFailure } from '../effects/classify-failure.js';
import { planEvent } from '../effects/plan-event.js';
import { displayEvent } from '../identity/event-identity.js';
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
      const answer = await planEvent(deps, eventKey, input);
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
