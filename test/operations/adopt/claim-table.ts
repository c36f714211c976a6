import { standardWebhooks } from '../../../src/sources/standard-webhooks.js';
import { types } from '../../../src/sources/types.js';
import type { OrderData } from '../../hazards/support/shop.js';
import type { Stage } from '../support/stage.js';

/** The shop, whose provider waits for the outcome and is told the results. */
export const settledShop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.paid': types<OrderData>(), 'order.refunded': types<OrderData>() },
  acknowledge: 'settled',
  settleWithin: '10 seconds',
  exposeResult: true,
});

/** What a hand-written consumer keeps of the events that it has done, and tables of the effects. */
export const tables = `
  CREATE TABLE processed_events (event_id text PRIMARY KEY, order_id text, response jsonb, processed_at timestamptz);
  CREATE TABLE shipments (order_id text NOT NULL);
  CREATE TABLE mails (order_id text NOT NULL)`;

/** The n-th event of a test; Temporal's namespace is shared by all tests. */
export function eventId(stage: Pick<Stage, 'taskQueue'>, n: number): string {
  return `${stage.taskQueue}-${n}`;
}

/** Rows of the claim table: the first events of the test, of the orders `o-1` and on. */
export async function fillClaimTable(stage: Pick<Stage, 'sql' | 'taskQueue'>, rows: number): Promise<void> {
  await stage.sql(
    `INSERT INTO processed_events
     SELECT $2 || '-' || n, 'o-' || n, jsonb_build_object('shipment', 'old-' || n), now() - interval '1 day'
     FROM generate_series(1, $1::integer) AS n`,
    [rows, stage.taskQueue],
  );
}

/** The effect's part of the claim table. */
export const shipments = `
  SELECT event_id AS event_key, 'shipment:' || order_id AS business_key, response AS result, processed_at AS done_at
  FROM processed_events ORDER BY event_id;`;
