import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { killWorkers, spawnWorker } from './support/spawn-worker.js';
import { until } from './support/until.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { setup: shipmentsTable, worker: false });
});
afterAll(async () => {
  await killWorkers();
  await harness?.close();
});

test('a worker frozen inside the transaction holds the key no longer than its attempt may take, and writes nothing when it thaws', async () => {
  const address = inject('temporalAddress');
  const worker = (taskQueue: string, crashAt: 'freeze' | 'none') =>
    spawnWorker({ address, taskQueue, databaseUrl: harness.databaseUrl, crashAt });
  // Each on a task queue of its own: the frozen one goes on polling, and what Temporal hands to it is another matter.
  const [frozenQueue, otherQueue] = [`frozen-${randomUUID()}`, `other-${randomUUID()}`];
  const [frozen, other] = await Promise.all([worker(frozenQueue, 'freeze'), worker(otherQueue, 'none')]);
  const event = orderPaid();
  const start = (id: string, taskQueue: string) =>
    harness.client.workflow.start('processEvent', {
      workflowId: harness.key({ ...event, id }),
      taskQueue,
      args: [harness.input({ ...event, id })],
    });
  const handle = await start(event.id, frozenQueue);
  await until('the open transaction', async () => {
    const open = await harness.sql(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
    );
    return open.length > 0;
  });
  const frozenAt = Date.now();
  const otherId = randomUUID();
  const result = await resultOf(await start(otherId, otherQueue));
  // The effect's timeout is 2 s; beyond it comes at most the wait that the other event had begun, of some 2 s.
  expect(Date.now() - frozenAt).toBeLessThan(7000);
  expect(result.effects[0]).toMatchObject({ outcome: 'done', attempts: 1 });

  frozen.kill('SIGCONT');
  const first = await resultOf(handle);
  expect(first.effects[0]).toMatchObject({ outcome: 'already_done', doneBy: `shop/${otherId}` });
  expect(await harness.sql('SELECT by_effect FROM shipments WHERE order_id = $1', [event.id])).toEqual([
    { by_effect: String(other.pid) },
  ]);
});
