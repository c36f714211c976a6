import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { operationsContext } from '../../../src/operations/context.js';
import { createRelay } from '../../../src/publisher/relay.js';
import type { RelayStep } from '../../../src/publisher/start-taken.js';
import { deliveryTaskQueue } from '../../../src/workflows/delivery-contract.js';
import { forkWorker, killWorkers } from '../../hazards/support/spawn-worker.js';
import { until } from '../../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import type { OutboxProcessSettings } from '../support/outbox-process.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';

const script = fileURLToPath(new URL('../support/outbox-process.ts', import.meta.url));
const messages = 12;

let stage: DeliveryStage;
const receivers: ScriptedReceiver[] = [];
const endpoints: string[] = [];
beforeAll(async () => {
  stage = await createDeliveryStage({ worker: false });
  for (let number = 0; number < 2; number++) {
    const receiver = await startScriptedReceiver();
    receivers.push(receiver);
    endpoints.push((await stage.endpoint(receiver.url)).id);
  }
});
afterAll(async () => {
  await killWorkers();
  await stage?.close();
  for (const receiver of receivers) await receiver.close();
});

/** A relay that lives, until the test is over. */
function startRelay(): void {
  const { ledger, client, namespace, log } = stage.onefold[operationsContext];
  const relay = createRelay({ ledger, client, namespace, taskQueue: stage.taskQueue, log });
  const ended = relay.run();
  onTestFinished(async () => {
    relay.shutdown();
    await ended;
  });
}

/** Runs by workflow ID, of publications whose name begins so. */
async function runsOf(prefix: string): Promise<Record<string, number>> {
  const counted: Record<string, number> = {};
  const query = `TaskQueue = '${deliveryTaskQueue(stage.taskQueue)}'`;
  for await (const { workflowId } of stage.client.workflow.list({ query })) {
    if (workflowId.includes(`/${prefix}:`)) counted[workflowId] = (counted[workflowId] ?? 0) + 1;
  }
  return counted;
}

test.each<[string, RelayStep, number]>([
  ['after it took', 'after_take', 1],
  ['after its first start', 'after_start', 1],
  ['among its starts', 'after_start', 9],
  ['before it marked', 'before_mark', 1],
  ['after it marked', 'after_mark', 1],
])('SIGKILL of the relay %s: each delivery has one run and one request', async (_, step, nth) => {
  const prefix = `${step}-${nth}`;
  const published: { publication: string; eventId: string }[] = [];
  for (let number = 0; number < messages; number++) published.push(await stage.publish(`${prefix}:${number}`));

  const relay = await forkWorker(script, {
    address: inject('temporalAddress'),
    taskQueue: stage.taskQueue,
    databaseUrl: stage.databaseUrl,
    publication: '',
    does: { relay: step, nth },
  } satisfies OutboxProcessSettings);
  expect(await relay.exited).toBe('SIGKILL');
  // What time does to the lease of the dead one.
  await stage.sql(`UPDATE onefold.publication_deliveries SET relay_until = '-infinity' WHERE state = 'queued'`);
  startRelay();
  await until('all to be marked', async () => {
    const [row] = await stage.sql(
      `SELECT count(*)::int AS left FROM onefold.publication_deliveries WHERE state = 'queued'`,
    );
    return row?.left === 0;
  });
  // Not before: what ran already must be found running, not ended.
  const sender = await stage.worker({ relay: false });

  for (const endpoint of endpoints) {
    for (const { publication } of published) {
      expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered', attempts: 1 });
    }
  }
  const eventIds = published.map(({ eventId }) => eventId).sort();
  for (const { requests } of receivers) {
    expect(
      requests
        .splice(0)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(eventIds);
  }
  const expected = endpoints.flatMap((endpoint) =>
    published.map(({ publication }) => [`publication//${endpoint}/${publication}`, 1] as const),
  );
  await until('Temporal to list every run', async () => Object.keys(await runsOf(prefix)).length >= expected.length);
  expect(await runsOf(prefix)).toEqual(Object.fromEntries(expected));
  await sender.stop();
});
