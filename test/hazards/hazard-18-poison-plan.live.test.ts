import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createHarness, type Harness } from '../setup/harness.js';
import { countEvents } from './support/history.js';
import { nudged } from './support/nudged.js';
import { orderPaid, shipmentsTable, shop } from './support/shop.js';
import { keepSpawning, killWorkers } from './support/spawn-worker.js';
import { until } from './support/until.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { setup: shipmentsTable, worker: false });
});
afterAll(async () => {
  await killWorkers();
  await harness?.close();
});

async function startPoisoned(poison: 'plan' | 'commit') {
  const taskQueue = `poison-${randomUUID()}`;
  const workers = keepSpawning({
    address: inject('temporalAddress'),
    taskQueue,
    databaseUrl: harness.databaseUrl,
    crashAt: 'none',
  });
  const event = orderPaid({ poison });
  const handle = await harness.client.workflow.start('processEvent', {
    workflowId: harness.key(event),
    taskQueue,
    args: [harness.input(event)],
  });
  return { event, handle, workers };
}

test.concurrent('a plan that kills its worker becomes a regular activity, whose timeouts stand counted in the history', async () => {
  const { handle, workers } = await startPoisoned('plan');
  try {
    const timeouts = await nudged([handle], () =>
      until(
        'a second counted timeout',
        async () => {
          const { activityTaskTimedOut = 0 } = await countEvents(handle);
          return activityTaskTimedOut >= 2 ? activityTaskTimedOut : undefined;
        },
        280_000,
      ),
    );
    expect(timeouts).toBeGreaterThanOrEqual(2);
    expect(workers.deaths()).toBeLessThanOrEqual(timeouts + 3);
  } finally {
    await handle.terminate();
    await workers.stop();
  }
}, 300_000);

test.concurrent('an effect that kills its worker ends in the dead letters after its attempts, not never', async () => {
  const { event, handle, workers } = await startPoisoned('commit');
  try {
    await nudged([handle], async () => {
      await expect(handle.result()).rejects.toThrow();
    });
    const [letter] = await harness.sql('SELECT code, effects FROM onefold.dead_letters WHERE event_id = $1', [
      event.id,
    ]);
    expect(letter?.code).toBe('budget_spent');
    const [effect] = JSON.parse(letter?.effects);
    expect(effect.reasons.map(({ code }: { code: string }) => code)).toEqual(Array(3).fill('attempt_timed_out'));
    expect(await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [event.id])).toEqual([]);
  } finally {
    await workers.stop();
  }
}, 300_000);
