import type { Client } from '@temporalio/client';
import type { Ledger } from '../ledger/ledger.js';
import type { TenantEgress } from '../publisher/egress/tenant-egress.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import type { Sealer } from '../runtime/seal.js';
import { createLookAtEndpoint } from './look-at-endpoint.js';
import { createWasActCarriedOut } from './record-abandon.js';
import { createRecordDeliveryEnd } from './record-delivery-end.js';
import { createRecordSend, createSendPublication } from './send-publication.js';

/** What the activities of deliveries close over. */
export interface DeliveryDependencies {
  readonly ledger: Ledger;
  readonly client: Client;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly egress: TenantEgress;
  readonly sealer: Sealer;
  /** Aborts when the grace of a stopping worker is over. */
  readonly graceOver: AbortSignal;
  /** Told of each step of an attempt; for tests. */
  readonly onSendStep?: OnSendStep;
}

/** The steps of an attempt between which a process may die. */
export type SendStep = 'before_begin' | 'after_begin' | 'after_exchange' | 'after_end';

/** Is awaited at each step. */
export type OnSendStep = (
  step: SendStep,
  of: { readonly endpoint: string; readonly publication: string; readonly attempt: number },
) => Promise<void>;

/** Joins the activities of deliveries; workflows see them through this function's type alone. */
export function createDeliveryActivities(deps: DeliveryDependencies) {
  return {
    sendPublication: createSendPublication(deps),
    recordSend: createRecordSend(deps),
    lookAtEndpoint: createLookAtEndpoint(deps),
    recordDeliveryEnd: createRecordDeliveryEnd(deps),
    wasActCarriedOut: createWasActCarriedOut(deps),
  };
}

/** The activities as the workflows call them. */
export type DeliveryActivities = ReturnType<typeof createDeliveryActivities>;
