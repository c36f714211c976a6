import { setTimeout as sleep } from 'node:timers/promises';
import {
  createOnefold,
  fromEnv,
  github,
  httpFailure,
  NotDoneError,
  park,
  publications,
  standardWebhooks,
  types,
} from 'onefold';
import { z } from 'zod';
import { bankUrl } from './bank.js';

// Real secrets come from the environment; these are for trying it out and sign nothing outside this folder.
process.env.SHOP_WEBHOOK_SECRETS ??= 'whsec_b25lZm9sZC1leGFtcGxlLXNlY3JldC1rZXktMDE=';
process.env.CARRIER_WEBHOOK_SECRETS ??= 'whsec_b25lZm9sZC1leGFtcGxlLWNhcnJpZXIta2V5LTAx';
process.env.GITHUB_WEBHOOK_SECRETS ??= 'onefold-example-github-secret';

const Items = z.array(z.object({ sku: z.string(), quantity: z.number().int().positive() }));

/** An order may be fulfilled in several parts, and each of them is shipped once. */
const OrderPaid = z.object({ order: z.string(), fulfilment: z.string(), items: Items });

const OrderRefunded = z.object({ order: z.string(), amount: z.number().int().positive() });

const StockArrived = z.object({ delivery: z.string(), items: Items });

const shop = standardWebhooks('shop', {
  secrets: fromEnv('SHOP_WEBHOOK_SECRETS'),
  events: { 'order.paid': OrderPaid, 'order.refunded': OrderRefunded, 'stock.arrived': StockArrived },
});

const hub = github('github', {
  secrets: fromEnv('GITHUB_WEBHOOK_SECRETS'),
  events: { 'issues.opened': types<{ issue: { id: number; title: string }; repository: { full_name: string } }>() },
});

const OrderShipped = z.object({ order: z.string(), shipment: z.string() });

/** What the shop tells others. Who gets it is decided by the endpoints: `onefold endpoints add`. */
const outgoing = publications({ events: { 'order.shipped': OrderShipped } });

/** A partner that gets the shop's publications. In real life it is another application, of somebody else. */
const carrier = standardWebhooks('carrier', {
  secrets: fromEnv('CARRIER_WEBHOOK_SECRETS'),
  events: { 'order.shipped': OrderShipped },
});

/** One pickup per shipment, however often the shop has to send its message. */
const bookPickup = carrier.effect('book-pickup', {
  on: 'order.shipped',
  businessKey: (event) => `pickup:${event.data.shipment}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shop.pickups (shipment) VALUES ($1)', [event.data.shipment]);
  },
});

/** One shipment per fulfilment, however often and under however many events it is asked for. */
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: (event) => `shipment:${event.data.fulfilment}`,
  retry: { initialInterval: '2 seconds', maximumInterval: '1 minute' },
  commit: async ({ event, tx }) => {
    for (const { sku, quantity } of event.data.items) {
      const taken = await tx.query('UPDATE shop.stock SET quantity = quantity - $2 WHERE sku = $1 AND quantity >= $2', [
        sku,
        quantity,
      ]);
      if (taken.rowCount === 0) throw new NotDoneError(`${sku} is out of stock`);
    }
    const { rows } = await tx.query('INSERT INTO shop.shipments (fulfilment, order_id) VALUES ($1, $2) RETURNING id', [
      event.data.fulfilment,
      event.data.order,
    ]);
    const shipment = `shp_${rows[0]?.id}`;
    // Goes out if this transaction commits, and never where it does not.
    await outgoing.publishIn(tx, {
      publication: `shipment:${event.data.fulfilment}:shipped:v1`,
      type: 'order.shipped',
      data: { order: event.data.order, shipment },
    });
    // Leaves time to kill the process in mid-transaction; see the tour in the README.
    await sleep(Number(process.env.EXAMPLE_PAUSE_MS ?? 0));
    return { shipment };
  },
});

/** Money leaves the house, and this bank can neither dedupe nor be asked: where nobody can tell, a person decides. */
const refundCard = shop.externalEffect('refund-card', {
  on: 'order.refunded',
  businessKey: (event) => `refund:${event.data.order}`,
  perform: async ({ event, idempotencyKey, signal }) => {
    const response = await fetch(await bankUrl(), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify(event.data),
      redirect: 'manual',
      signal,
    });
    if (!response.ok) throw httpFailure(response);
    return (await response.json()) as { refund: string };
  },
  recovery: park(),
  commit: async ({ event, tx, result }) => {
    await tx.query('INSERT INTO shop.refunds (order_id, amount, refund) VALUES ($1, $2, $3)', [
      event.data.order,
      event.data.amount,
      result.refund,
    ]);
  },
});

const restock = shop.effect('restock', {
  on: 'stock.arrived',
  businessKey: (event) => `delivery:${event.data.delivery}`,
  commit: async ({ event, tx }) => {
    for (const { sku, quantity } of event.data.items) {
      await tx.query(
        `INSERT INTO shop.stock AS s (sku, quantity) VALUES ($1, $2)
         ON CONFLICT (sku) DO UPDATE SET quantity = s.quantity + EXCLUDED.quantity`,
        [sku, quantity],
      );
    }
  },
});

const triageIssue = hub.effect('triage-issue', {
  on: 'issues.opened',
  businessKey: (event) => `issue:${event.data.issue.id}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shop.triage (issue_id, repository, title) VALUES ($1, $2, $3)', [
      event.data.issue.id,
      event.data.repository.full_name,
      event.data.issue.title,
    ]);
  },
});

export const onefold = createOnefold({
  sources: [shop, hub, carrier],
  effects: [shipOrder, refundCard, restock, triageIssue, bookPickup],
  publications: outgoing,
});
