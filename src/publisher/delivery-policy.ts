import type { DeliveryPolicy } from '../workflows/delivery-contract.js';
import { defaultElapsedMs, defaultPausesMs, defaultSendTimeoutMs } from './endpoint.js';

/** What an endpoint and a publication say about a delivery's budget; null where they leave it to the next. */
export interface PolicyParts {
  readonly endpoint: {
    readonly timeoutMs: number | null;
    readonly pausesMs: readonly number[] | null;
    readonly elapsedMs: number | null;
  };
  readonly publication: {
    readonly retried: boolean;
    readonly pausesMs: readonly number[] | null;
    readonly elapsedMs: number | null;
  };
}

/** The budget of a delivery: the endpoint's word before that of the event type, and the default last. */
export function deliveryPolicy({ endpoint, publication }: PolicyParts): DeliveryPolicy {
  const pausesMs = endpoint.pausesMs ?? publication.pausesMs ?? defaultPausesMs;
  return {
    pausesMs: publication.retried ? pausesMs : [],
    maximumElapsedMs: endpoint.elapsedMs ?? publication.elapsedMs ?? defaultElapsedMs,
    timeoutMs: endpoint.timeoutMs ?? defaultSendTimeoutMs,
  };
}
