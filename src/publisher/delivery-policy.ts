import type { DeliveryBudget } from '../ledger/sends/delivery-budget.js';
import type { DeliveryPolicy } from '../workflows/delivery-contract.js';
import { defaultElapsedMs, defaultPausesMs, defaultSendTimeoutMs } from './endpoint.js';

/** The budget of a delivery: the endpoint's word before that of the event type, and the default last. */
export function deliveryPolicy({ endpoint, publication }: DeliveryBudget): DeliveryPolicy {
  const pausesMs = endpoint.pausesMs ?? publication.pausesMs ?? defaultPausesMs;
  return {
    pausesMs: publication.retried ? pausesMs : [],
    maximumElapsedMs: endpoint.elapsedMs ?? publication.elapsedMs ?? defaultElapsedMs,
    timeoutMs: endpoint.timeoutMs ?? defaultSendTimeoutMs,
  };
}
