import { setTimeout as sleep } from 'node:timers/promises';
import { createOnefold, standardWebhooks, types } from 'onefold';

/** Signs nothing outside of a proof. */
export const proofSecret = 'whsec_b25lZm9sZC1wcm9vZi1zZWNyZXQta2V5LTAwMDE=';

const shop = standardWebhooks('shop', {
  secrets: proofSecret,
  events: { 'order.paid': types<{ fulfilment: string }>() },
});

/**
 * The table has no unique constraint: what keeps it to one row per fulfilment is the ledger alone. The pauses make room
 * for a kill on both sides of the insert, and some attempts fail by themselves.
 */
const ship = shop.effect('ship', {
  on: 'order.paid',
  businessKey: (event) => `shipment:${event.data.fulfilment}`,
  timeout: '10 seconds',
  retry: { initialInterval: 200, maximumInterval: '2 seconds', maximumAttempts: 1000 },
  commit: async ({ event, tx }) => {
    await sleep(Math.random() * 20);
    if (Math.random() < 0.03) throw new Error('failing by itself, before the write');
    const { rows } = await tx.query('INSERT INTO proof.shipments (fulfilment, event) VALUES ($1, $2) RETURNING id', [
      event.data.fulfilment,
      event.id,
    ]);
    await sleep(Math.random() * 20);
    if (Math.random() < 0.03) throw new Error('failing by itself, after the write');
    return { shipment: rows[0]?.id };
  },
});

export const onefold = createOnefold({ sources: [shop], effects: [ship], taskQueue: 'proof' });
