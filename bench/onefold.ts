import { createOnefold, standardWebhooks, types } from 'onefold';
import { insertStatement, type Order } from './bare/insert-shipment.js';

/** Signs nothing outside of a measurement. */
export const benchSecret = 'whsec_b25lZm9sZC1iZW5jaC1zZWNyZXQta2V5LTAwMDE=';

const bench = standardWebhooks('bench', {
  secrets: benchSecret,
  events: { 'order.paid': types<Order>() },
});

const ship = bench.effect('ship', {
  on: 'order.paid',
  businessKey: (event) => `shipment:${event.data.order}`,
  commit: async ({ event, tx }) => {
    const { rows } = await tx.query<{ id: number }>(insertStatement, [event.data.order]);
    return { shipment: rows[0]?.id ?? 0 };
  },
});

export const onefold = createOnefold({ sources: [bench], effects: [ship] });
