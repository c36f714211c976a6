import { type AttemptStep, attemptSteps } from '../../../src/effects/attempt-steps.js';
import { type Combination, type Fault, isTerminatedForGood, type ScenarioVerdict } from './fault-matrix.js';

/** Between these the ledger has a claim, and nobody but the partner knows whether it was called. */
const inDoubt: ReadonlySet<AttemptStep> = new Set(
  attemptSteps.slice(attemptSteps.indexOf('after_claim'), attemptSteps.indexOf('after_completion')),
);

/** What an attempt comes back with whose claim was taken. One without a claim, or with a completion, is no zombie. */
const comesBackWith: Partial<Record<AttemptStep, string>> = {
  after_claim: 'not_done',
  before_call: 'not_done',
  after_call: 'performed',
  before_completion: 'performed',
};

/**
 * One effect, one business row, one row of the ledger, whatever happened. A person is asked only where the declaration says
 * so and doubt is possible. An attempt that wakes neither calls nor writes.
 */
export function expectedVerdict(fault: Fault, combination: Combination): ScenarioVerdict {
  const { step, recovery } = combination;
  return {
    taken: 1,
    ledger: ['done'],
    labels: 1,
    event: 'done',
    openDeadLetters: 0,
    parked: recovery === 'park' && inDoubt.has(step),
    afterwards: isTerminatedForGood(combination) ? 'retry_after_failure' : 'duplicate_done',
    zombie: fault === 'frozen' ? comesBackWith[step] : undefined,
    callsAfterWaking: 0,
  };
}
