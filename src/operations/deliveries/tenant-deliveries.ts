import type { RecordedDelivery } from '../../ledger/publication-deliveries/delivery-row.js';
import type { OperationsContext } from '../context.js';
import type { Page } from '../page-cursor.js';
import { type AbandonDeliveryOptions, type AbandonDeliveryOutcome, abandonDelivery } from './abandon-delivery.js';
import { type DeliveryFilter, listDeliveries } from './list-deliveries.js';
import type { DeliveryName } from './read-delivery-name.js';
import { type ReplayDeliveryOptions, type ReplayDeliveryOutcome, replayDelivery } from './replay-delivery.js';
import { type ShownDelivery, showDelivery } from './show-delivery.js';

/** A tenant's view of what is sent to its endpoints. Every statement is restricted to the tenant in SQL. */
export interface DeliveriesApi {
  /**
   * Lists deliveries page by page, those published last first.
   *
   * @throws {OnefoldError} `request_invalid` for a filter that is wrong.
   */
  deliveries(filter?: Omit<DeliveryFilter, 'tenant'>): Promise<Page<RecordedDelivery>>;
  /**
   * Shows one delivery with its attempts and what is still to come.
   *
   * @throws {OnefoldError} `publication_unknown` where this tenant has none such, whoever else may.
   */
  delivery(name: Omit<DeliveryName, 'tenant'>): Promise<ShownDelivery>;
  /**
   * Sends a delivery again that has ended, under the same `webhook-id`. Repeating it under the same `id` is harmless.
   *
   * @throws {OnefoldError} `publication_unknown`; `replay_refused` while it is under way.
   */
  resend(name: Omit<DeliveryName, 'tenant'>, options: ReplayDeliveryOptions): Promise<ReplayDeliveryOutcome>;
  /**
   * Gives a delivery up that was not delivered, and closes its dead letter. Repeating it under the same `id` is harmless.
   *
   * @throws {OnefoldError} `publication_unknown`; `abandon_refused` where it was delivered.
   */
  abandonDelivery(name: Omit<DeliveryName, 'tenant'>, options: AbandonDeliveryOptions): Promise<AbandonDeliveryOutcome>;
}

/** Makes a tenant's view. The tenant stands last, so that no option can name another. */
export function tenantDeliveries(context: OperationsContext, tenant: string): DeliveriesApi {
  return {
    deliveries: (filter = {}) => listDeliveries(context, { ...filter, tenant }),
    delivery: ({ publication, endpoint }) => showDelivery(context, { publication, endpoint, tenant }),
    abandonDelivery: ({ publication, endpoint }, options) =>
      abandonDelivery(context, { publication, endpoint, tenant }, options),
    resend: ({ publication, endpoint }, options) => replayDelivery(context, { publication, endpoint, tenant }, options),
  };
}
