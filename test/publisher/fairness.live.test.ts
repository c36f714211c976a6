import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { relayWindow } from '../../src/publisher/relay-window.js';
import { killWorkers } from '../hazards/support/spawn-worker.js';
import { until } from '../hazards/support/until.js';
import { spawnSender } from './crash/support/spawn-sender.js';
import { createDeliveryStage, type DeliveryStage } from './support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from './support/scripted-receiver.js';

let stage: DeliveryStage;
let healthy: ScriptedReceiver;
let hanging: ScriptedReceiver;
let flooded: ScriptedReceiver;
beforeAll(async () => {
  [healthy, hanging, flooded] = await Promise.all([
    startScriptedReceiver(),
    startScriptedReceiver(),
    startScriptedReceiver(),
  ]);
  hanging.answer(() => new Promise(() => {}));
  stage = await createDeliveryStage({ worker: false });
  await stage.endpoint(healthy.url, { types: ['order.confirmed'] });
  await stage.endpoint(hanging.url, { types: ['order.note'], timeout: '5 seconds' });
  await stage.endpoint(flooded.url, { types: ['order.note'] });
  await spawnSender(stage);
});
afterAll(async () => {
  await killWorkers();
  await stage?.close();
  await Promise.all([healthy, hanging, flooded].map((receiver) => receiver?.close()));
});

/**
 * What came first, for each of twenty messages that are published to the healthy endpoint at intervals: requests to another
 * endpoint between the publishing and the request. Requests are counted, and not seconds, because a busy machine is slow to
 * all endpoints alike.
 */
async function overtakenBy(others: readonly ScriptedReceiver[]): Promise<number[][]> {
  const published = await Promise.all(
    Array.from({ length: 20 }, async (_, number) => {
      await sleep(number * 200);
      const at = Date.now();
      return { at, ...(await stage.publish()) };
    }),
  );
  return Promise.all(
    published.map(async ({ at, eventId }) => {
      const request = await until('a request to the healthy endpoint', () => healthy.of(eventId)[0], 90_000);
      return others.map(({ requests }) => requests.filter((one) => one.at > at && one.at < request.at).length);
    }),
  );
}

test('a hanging and a flooded endpoint do not hold up a healthy one', async () => {
  await stage.onefold.publishMany(
    Array.from({ length: 2_000 }, (_, number) => ({
      publication: `note:${number}`,
      type: 'order.note' as const,
      data: { number },
    })),
  );
  await until('requests to both', () => hanging.requests.length > 0 && flooded.requests.length > 0);
  const overtaken = await overtakenBy([hanging, flooded]);
  // The backlogs outlast them: whoever had to wait for those would have waited for two thousand requests.
  const left = await stage.sql<{ deliveries: number }>(
    `SELECT count(*)::int AS deliveries FROM onefold.publication_deliveries d
     WHERE state IN ('queued', 'started') AND publication LIKE 'note:%' GROUP BY endpoint`,
  );
  expect(left).toHaveLength(2);
  for (const { deliveries } of left) expect(deliveries).toBeGreaterThan(2 * relayWindow);
  // How far a relay runs ahead of each is all that another one may have to wait for.
  for (const requests of overtaken) expect(Math.max(...requests)).toBeLessThanOrEqual(relayWindow);
});
