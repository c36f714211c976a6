import { ActivityCancellationType, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.js';

/** Between what an attempt allows itself and what the server allows it: its own error, with its reason, comes first. */
export const serverMarginMs = 5000;

/** A regular attempt beats every 2 s; silence for this long means that its worker is gone or frozen. */
const heartbeatTimeout = '10 seconds';

/**
 * Business attempts. One attempt each, since the server would fold its own retries into one event of the history, and
 * the history is the record of every attempt. Timeouts are the plan's, given at the call.
 */
export const attempts = proxyActivities<Pick<Activities, 'attemptEffect'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout,
  retry: { maximumAttempts: 1 },
  // Eagerly it would go to the worker that holds the workflow, each time the same; where that one is old and lacks the
  // effect, the event would wait as long as it lives, although a newer one is there.
  allowEagerDispatch: false,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** Plans that may not run locally. They do not beat, so their worker's death shows by the timeout of the call. */
export const plans = proxyActivities<Pick<Activities, 'planEvent'>>({
  startToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
  allowEagerDispatch: false,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** The same in the worker that holds the workflow task: no queue, no round trip; see `late-start.ts` for its guard. */
export const localAttempts = proxyLocalActivities<Pick<Activities, 'attemptEffect' | 'planEvent'>>({
  startToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** Book-keeping that has to happen: Temporal's own retries, without end, since nothing else would do it. */
export const records = proxyActivities<
  Pick<Activities, 'recordDeadLetter' | 'recordParked' | 'lookAtParked' | 'recordAbandon' | 'readEffectEnds'>
>({
  startToCloseTimeout: '15 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * Reads for the handlers. Local, so that a handler comes to its decision within the workflow task that brought it: while
 * a first attempt runs locally, the next task may be eight seconds away.
 */
export const reads = proxyLocalActivities<Pick<Activities, 'wasActCarriedOut'>>({
  startToCloseTimeout: '5 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});
