import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventIdLimitBytes } from '../../src/identity/event-identity.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { until } from './support/until.js';

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder] }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

/** Text that PostgreSQL cannot make smaller. */
const incompressible = (bytes: number) => randomBytes(bytes).toString('base64').slice(0, bytes);

test('an event id of the most bytes is carried to its end; one of a byte more is refused at the door', async () => {
  const event = { ...orderPaid(), id: incompressible(eventIdLimitBytes) };
  expect((await resultOf(await harness.start(event))).outcome).toBe('done');
  expect(() => harness.key({ ...event, id: `${event.id}x` })).toThrow(
    expect.objectContaining({ code: 'identity_invalid' }) as unknown as Error,
  );
});

test('an event that was started by hand with a longer id is recorded like any other', async () => {
  const event = orderPaid();
  const workflowId = `event//shop/~${randomBytes(32).toString('hex')}`;
  const handle = await harness.client.workflow.start('processEvent', {
    workflowId,
    taskQueue: harness.taskQueue,
    args: [{ ...harness.input(event), id: incompressible(16_000) }],
  });
  await until('its end', async () => (await handle.describe()).status.name !== 'RUNNING', 10_000);
  expect(await harness.sql('SELECT state FROM onefold.events WHERE event_key = $1', [workflowId])).toEqual([
    { state: 'done' },
  ]);
});
