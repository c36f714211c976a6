import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { DeliveryActivities } from '../activities/delivery-activities.js';
import { serverMarginMs } from './activities.js';
import type { DeliveryPolicy } from './delivery-contract.js';

/** Silence of a running attempt after which its worker counts as dead: it beats every 2 s. */
const heartbeatTimeout = '10 seconds';

/** Attempts; one each, since the history is the record of every attempt. Timeouts are the policy's, given at the call. */
export const sends = proxyActivities<Pick<DeliveryActivities, 'sendPublication'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout,
  retry: { maximumAttempts: 1 },
  // Eagerly they would go past the fairness of the task queue, to the worker that holds the workflow.
  allowEagerDispatch: false,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** Between what an exchange may take and what the server allows its activity: reading, sealing, writing down. */
const aroundExchangeMs = 10_000 + serverMarginMs;

/** Start-to-close of one attempt, ms. */
export function sendTimeoutMs({ timeoutMs }: DeliveryPolicy): number {
  return timeoutMs + aroundExchangeMs;
}

/** Book-keeping that has to happen: Temporal's own retries, without end, since nothing else would do it. */
export const deliveryRecords = proxyActivities<
  Pick<DeliveryActivities, 'lookAtEndpoint' | 'recordSend' | 'recordDeliveryEnd' | 'wasActCarriedOut'>
>({
  startToCloseTimeout: '15 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});
