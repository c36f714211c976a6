import type { Ledger } from '../ledger/ledger.js';
import { markAttempt } from '../ledger/mark-attempt.js';

/** A local activity that begins later than this after its run did may be a second try after a worker's death. */
const freshMs = 5000;

/** Clocks kept by NTP differ by less. */
const clockSkewMs = 1000;

/**
 * Judges whether a step may run as a local activity. Temporal runs a lost local activity again without a trace in the
 * history, so one that kills its worker would do so for ever and spend no budget. A step that begins late therefore
 * leaves a committed mark first; where the mark stands already, the step must run as a regular activity, whose timeouts
 * are counted.
 */
export async function mayRunLocally(
  ledger: Ledger,
  step: {
    readonly tenant: string;
    readonly eventKey: string;
    readonly runId: string;
    readonly name: string;
    /** Start of the run, Unix ms. */
    readonly runStartedAt: number;
  },
): Promise<boolean> {
  const age = Date.now() - step.runStartedAt;
  // A start that lies ahead says that the clocks of server and worker differ, so that its age proves nothing.
  if (age > -clockSkewMs && age < freshMs) return true;
  return markAttempt(ledger.database.query, ledger.schema, {
    tenant: step.tenant,
    eventKey: step.eventKey,
    runId: step.runId,
    step: step.name,
  });
}
