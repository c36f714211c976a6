import { PermanentError } from '../../../../src/effects/errors.js';
import { shop } from '../../../hazards/support/shop.js';
import { until } from '../../../hazards/support/until.js';
import type { Deployed, Stage } from '../../support/stage.js';

export const setup = `CREATE TABLE shipments (order_id text NOT NULL);
                      CREATE TABLE letters (order_id text NOT NULL);
                      CREATE TABLE ratings (order_id text NOT NULL)`;

/** Orders whose name begins so cannot be shipped. */
export const missing = new Set<string>();

/** Orders whose customers cannot be thanked. */
export const speechless = new Set<string>();

export const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { maximumAttempts: 1 },
  commit: async ({ event, tx }) => {
    if ([...missing].some((name) => event.data.order.startsWith(name))) throw new PermanentError('no shelf');
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

export const thankCustomer = shop.effect('thank-customer', {
  on: 'order.paid',
  businessKey: ({ data }) => `letter:${data.order}`,
  commit: async ({ event, tx }) => {
    if (speechless.has(event.data.order)) throw new PermanentError('no words');
    await tx.query('INSERT INTO letters (order_id) VALUES ($1)', [event.data.order]);
  },
});

export const askForRating = shop.effect('ask-for-rating', {
  on: 'order.paid',
  businessKey: ({ data }) => `rating:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO ratings (order_id) VALUES ($1)', [event.data.order]);
  },
});

export function keyOf(order: string): string {
  return `event//shop/${order}`;
}

/** Delivers orders `<name>-1` to `<name>-<many>`, and waits until each is in a state. */
export async function delivered(
  stage: Stage,
  app: Deployed,
  name: string,
  many: number,
  state: 'done' | 'dead_lettered',
): Promise<readonly string[]> {
  const orders = Array.from({ length: many }, (_, at) => `${name}-${at + 1}`);
  for (const order of orders) await app.deliver(order);
  await settled(stage, orders, state);
  return orders;
}

/** Waits until orders are in a state and their last runs are closed. */
export async function settled(stage: Stage, orders: readonly string[], state: string): Promise<void> {
  await until(
    `${orders.length} ${state}`,
    async () => {
      const rows = await stage.sql('SELECT 1 FROM onefold.events WHERE event_key = ANY($1) AND state = $2', [
        orders.map(keyOf),
        state,
      ]);
      return rows.length === orders.length;
    },
    60_000,
  );
  for (const order of orders) {
    await stage.client.workflow
      .getHandle(keyOf(order))
      .result()
      .catch(() => {});
  }
}

/** How often each order stands in a table of the effects. */
export async function timesIn(stage: Stage, table: string, orders: readonly string[]): Promise<readonly number[]> {
  const rows = await stage.sql<{ order_id: string; n: string }>(
    `SELECT order_id, count(*) AS n FROM ${table} WHERE order_id = ANY($1) GROUP BY order_id`,
    [orders],
  );
  const counts = new Map(rows.map(({ order_id: order, n }) => [order, Number(n)]));
  return orders.map((order) => counts.get(order) ?? 0);
}
