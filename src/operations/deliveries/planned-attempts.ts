import type { DeliveryPolicy } from '../../workflows/delivery-contract.js';

/** What is still to come of a delivery, in wall-clock time. */
export interface DeliveryPlan {
  /** `workflow`: its run said so. `policy`: computed, since it has no run yet, or none that answers. */
  readonly from: 'workflow' | 'policy';
  /** ISO 8601: when the remaining attempts are due if each fails at once, before jitter. */
  readonly attempts: readonly string[];
  /** ISO 8601: the end of the elapsed budget. */
  readonly givesUpAt: string;
  /** What the run is at. */
  readonly phase?: string;
  /** ISO 8601: when it goes on, while it pauses or waits. */
  readonly nextTryAt?: string;
}

/** Where a delivery stands that is to be planned. */
export interface AttemptsSoFar {
  /** Attempts that its present run has made. */
  readonly made: number;
  /** Unix ms: when the next one is due. */
  readonly dueAt: number;
  /** Unix ms: what the elapsed budget is counted from. */
  readonly budgetFrom: number;
}

/** Plans the rest of a delivery by its budget alone. */
export function plannedAttempts(policy: DeliveryPolicy, { made, dueAt, budgetFrom }: AttemptsSoFar): DeliveryPlan {
  const givesUpAt = budgetFrom + policy.maximumElapsedMs;
  const moments: number[] = [];
  let at = dueAt;
  for (let nth = made; nth <= policy.pausesMs.length; nth++) {
    // One attempt is made all the same.
    if (at > givesUpAt && nth > 0) break;
    moments.push(at);
    at += policy.pausesMs[nth] ?? 0;
  }
  return { from: 'policy', attempts: moments.map(iso), givesUpAt: iso(givesUpAt) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
