import { randomUUID } from 'node:crypto';
import { standardWebhooks } from '../../../src/sources/standard-webhooks.js';
import { types } from '../../../src/sources/types.js';
import type { TestEvent } from '../../setup/harness.js';

/** The data of the shop's events; what else a test puts in is its own affair. */
export interface OrderData {
  readonly order: string;
  readonly [more: string]: unknown;
}

/** Without a unique constraint on purpose: only the ledger stands between a second attempt and a second row. */
export const shipmentsTable = 'CREATE TABLE shipments (id serial PRIMARY KEY, order_id text NOT NULL, by_effect text)';

/** A source that signs as Standard Webhooks; the hazards below it need no signature. */
export const shop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.paid': types<OrderData>(), 'order.refunded': types<OrderData>() },
});

/** A fresh event of the shop. */
export function orderPaid(data: Partial<OrderData> = {}, event: Partial<TestEvent> = {}): TestEvent & { id: string } {
  const id = randomUUID();
  return {
    source: 'shop',
    id,
    type: 'order.paid',
    effects: ['ship-order'],
    body: { type: 'order.paid', data: { order: id, ...data } },
    ...event,
  };
}
