import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventStatus } from '../../src/workflows/contract.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { createGate, type Gate } from './support/gate.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { temporalCli } from './support/temporal-cli.js';
import { until } from './support/until.js';

const gates = new Map<string, Gate>();
let atOnce = 0;
let mostAtOnce = 0;
let attempts = 0;
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  retry: { initialInterval: '1 hour', maximumInterval: '1 hour' },
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx, attempt }) => {
    attempts += 1;
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    try {
      if (attempt === 1) throw new Error('the warehouse said no');
      await gates.get(event.data.order)?.pass();
      await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
    } finally {
      atOnce -= 1;
    }
  },
});
const other = shop.effect('send-mail', {
  on: 'order.paid',
  retry: { initialInterval: '1 hour', maximumInterval: '1 hour' },
  businessKey: ({ data }) => `mail:${data.order}`,
  commit: async ({ attempt }) => {
    if (attempt === 1) throw new Error('the mail server said no');
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [shipOrder, other] }, { setup: shipmentsTable });
});
afterAll(() => harness?.close());

const pauses = (key: string, effects: number) =>
  until('the pause', async () => {
    const status = await harness.client.workflow.getHandle(key).query<EventStatus>('status');
    return status.effects.filter(({ phase }) => phase === 'pausing').length === effects;
  });

test('retryNow ends a pause at once, and any number of them start no second attempt beside it', async () => {
  const event = orderPaid();
  const gate = createGate();
  gates.set(event.id, gate);
  const handle = await harness.start(event);
  await pauses(handle.workflowId, 1);
  attempts = 0;
  const began = Date.now();
  expect(await temporalCli(['workflow', 'signal', '--name', 'retryNow', '-w', handle.workflowId])).toMatchObject({
    ok: true,
  });
  await gate.reached;
  expect(Date.now() - began).toBeLessThan(5000);
  for (let i = 0; i < 5; i++) await handle.signal('retryNow');
  await sleep(500);
  gate.open();
  expect((await resultOf(handle)).effects[0]).toMatchObject({ outcome: 'done', attempts: 2 });
  expect({ attempts, mostAtOnce }).toEqual({ attempts: 1, mostAtOnce: 1 });
});

test('retryNow for one effect leaves the pause of its sibling alone', async () => {
  const event = orderPaid({}, { effects: ['ship-order', 'send-mail'] });
  const handle = await harness.start(event);
  await pauses(handle.workflowId, 2);
  await handle.signal('retryNow', { effect: 'send-mail' });
  await until('the end of send-mail', async () => {
    const { effects } = await handle.query<EventStatus>('status');
    return effects.find(({ effect }) => effect === 'send-mail')?.outcome === 'done';
  });
  const { effects } = await handle.query<EventStatus>('status');
  expect(effects.find(({ effect }) => effect === 'ship-order')).toMatchObject({ phase: 'pausing', attempts: 1 });
  await handle.terminate();
});

test.each([['null'], ['"ship-order"'], ['{"effect":5}'], ['[1]']])(
  'retryNow with the argument %s harms nothing',
  async (argument) => {
    const handle = await harness.start(orderPaid());
    await pauses(handle.workflowId, 1);
    await temporalCli(['workflow', 'signal', '--name', 'retryNow', '-w', handle.workflowId, '--input', argument]);
    expect((await resultOf(handle)).outcome).toBe('done');
  },
);
