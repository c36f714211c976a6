import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killWorkers } from '../../hazards/support/spawn-worker.js';
import { until } from '../../hazards/support/until.js';
import { type Sender, spawnSender } from '../crash/support/spawn-sender.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';

const limit = 3;

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
let senders: Sender[];
beforeAll(async () => {
  receiver = await startScriptedReceiver();
  stage = await createDeliveryStage({ worker: false });
  senders = await Promise.all([spawnSender(stage), spawnSender(stage), spawnSender(stage)]);
});
afterAll(async () => {
  await killWorkers();
  await stage?.close();
  await receiver?.close();
});

test('three workers together never have more requests under way than the endpoint takes', async () => {
  const publications = 24;
  const { id } = await stage.endpoint(receiver.url, { concurrency: limit });
  let underWay = 0;
  const seen: number[] = [];
  receiver.answer(async () => {
    underWay += 1;
    seen.push(underWay);
    await sleep(300);
    underWay -= 1;
    return 200;
  });
  const published = await Promise.all(Array.from({ length: publications }, () => stage.publish()));
  for (const { publication } of published) {
    expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 1 });
  }
  expect(seen).toHaveLength(publications);
  expect(Math.max(...seen)).toBe(limit);
  await stage.onefold.tenant('').endpoints.remove(id);
});

test('the slots of a killed worker are free again when their lease is over, and not before', async () => {
  const { id } = await stage.endpoint(receiver.url, { concurrency: limit, timeout: '1 second' });
  // The exchange and the margin around it.
  const leaseMs = 1_000 + 10_000;
  receiver.requests.length = 0;
  for (const sender of senders.slice(1)) await sender.stop();
  const names = Array.from({ length: limit }, (_, number) => `after_begin:${number}`);
  const killed = await Promise.all(names.map((name) => stage.publish(name)));
  await senders[0]?.held(names);
  const heldAt = Date.now();
  await senders[0]?.kill();
  receiver.answer(() => 200);
  const waiting = await Promise.all(Array.from({ length: limit }, () => stage.publish()));
  await spawnSender(stage);
  await until('a request', () => receiver.requests.length > 0);
  expect((receiver.requests[0]?.at ?? 0) - heldAt).toBeGreaterThan(leaseMs - 1_500);
  for (const { publication } of [...waiting, ...killed]) {
    expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered' });
  }
  expect(receiver.requests).toHaveLength(2 * limit);
});
