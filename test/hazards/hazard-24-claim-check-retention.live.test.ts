import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sweepLedger } from '../../src/activities/sweep-ledger.js';
import { storePayload } from '../../src/ledger/store-payload.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable, worker: false });
});
afterAll(() => harness?.close());

const sweep = () => sweepLedger({ ledger: harness.ledger, client: harness.client, progress: () => {} });

/** Stores a body as the receiver does before it starts the event, so many hours ago. */
async function stored(event: ReturnType<typeof orderPaid>, hoursAgo: number): Promise<void> {
  const { tenant, digest } = harness.input(event);
  const eventKey = harness.key(event);
  const body = Buffer.from(JSON.stringify(event.body));
  await storePayload(harness.ledger.database.query, harness.ledger.schema, { tenant, eventKey, digest, body });
  await harness.sql('UPDATE onefold.payloads SET stored_at = now() - make_interval(hours => $2) WHERE event_key = $1', [
    eventKey,
    hoursAgo,
  ]);
}
const bodies = async (event: ReturnType<typeof orderPaid>) =>
  (await harness.sql('SELECT 1 FROM onefold.payloads WHERE event_key = $1', [harness.key(event)])).length;

test('a body is swept after a day if its event was never started, and kept if the event waits for a worker', async () => {
  const [orphan, young, waiting] = [orderPaid(), orderPaid(), orderPaid()];
  await stored(orphan, 25);
  await stored(young, 23);
  await stored(waiting, 25);
  const handle = await harness.client.workflow.start('processEvent', {
    workflowId: harness.key(waiting),
    taskQueue: harness.taskQueue,
    args: [{ ...harness.input(waiting), payload: { stored: true } }],
  });
  expect(await sweep()).toMatchObject({ payloads: 1 });
  expect([await bodies(orphan), await bodies(young), await bodies(waiting)]).toEqual([0, 1, 1]);
  const worker = await harness.worker();
  expect(await resultOf(handle)).toMatchObject({ outcome: 'done' });
  await worker.stop();
});

test('a body of a recorded event is kept, however old', async () => {
  const event = orderPaid();
  const worker = await harness.worker();
  await resultOf(await harness.start(event));
  await worker.stop();
  await harness.sql("UPDATE onefold.payloads SET stored_at = now() - interval '25 hours' WHERE event_key = $1", [
    harness.key(event),
  ]);
  await harness.sql("DELETE FROM onefold.sweeps WHERE name = 'unclaimed_payloads'");
  await sweep();
  expect(await bodies(event)).toBe(1);
});

test('marks go after a day, evidence of deliveries after ninety, in batches until none is left', async () => {
  const key = `event//shop/${randomUUID()}`;
  await harness.sql(
    `INSERT INTO onefold.attempt_marks (tenant, event_key, run_id, step, at)
     SELECT '', $1, n::text, 'plan', now() - make_interval(hours => CASE WHEN n = 0 THEN 23 ELSE 25 END)
     FROM generate_series(0, 1500) n`,
    [key],
  );
  await harness.sql(
    `INSERT INTO onefold.deliveries (tenant, source, event_key, status, received_at)
     SELECT '', 'shop', $1, 202, now() - make_interval(days => CASE WHEN n = 0 THEN 89 ELSE 91 END)
     FROM generate_series(0, 2500) n`,
    [key],
  );
  expect(await sweep()).toMatchObject({ marks: 1500, deliveries: 2500 });
  // A first attempt of the tests above may have begun late, and left a mark of its own.
  const marks = await harness.sql('SELECT run_id FROM onefold.attempt_marks WHERE event_key = $1', [key]);
  expect(marks).toEqual([{ run_id: '0' }]);
  expect(await harness.sql('SELECT 1 FROM onefold.deliveries WHERE event_key = $1', [key])).toHaveLength(1);
});
