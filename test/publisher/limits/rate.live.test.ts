import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { killWorkers } from '../../hazards/support/spawn-worker.js';
import { until } from '../../hazards/support/until.js';
import { spawnSender } from '../crash/support/spawn-sender.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';
import { mostWithin } from './support/most-within.js';

interface Limited {
  readonly stage: DeliveryStage;
  readonly receiver: ScriptedReceiver;
  readonly endpoint: string;
}

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  await killWorkers();
  for (const close of closing) await close();
});

/** An endpoint with a rate limit, and a backlog that waits for it. */
async function createLimited(rateLimit: number, publications: number): Promise<Limited> {
  const receiver = await startScriptedReceiver();
  const stage = await createDeliveryStage({ worker: false });
  closing.push(stage.close, receiver.close);
  const { id: endpoint } = await stage.endpoint(receiver.url, { rateLimit });
  const list = Array.from({ length: publications }, (_, number) => ({
    publication: `limited:${number}`,
    type: 'order.confirmed' as const,
    data: { order: `ord_${number}` },
  }));
  await stage.onefold.publishMany(list);
  return { stage, receiver, endpoint };
}

const moments = ({ requests }: ScriptedReceiver): number[] => requests.map(({ at }) => at);

test('three workers together keep the rate limit, also when one is killed, and waiting spends no attempt', async () => {
  const { stage, receiver, endpoint } = await createLimited(20, 400);
  const [victim] = await Promise.all([spawnSender(stage), spawnSender(stage), spawnSender(stage)]);
  await until('the first requests', () => receiver.requests.length > 20);
  await sleep(6_000);
  await victim.kill();
  const killedAt = Date.now();
  await sleep(9_000);
  const all = moments(receiver);
  // What is promised: the limit and 5 % of it.
  expect(mostWithin(all, 10_000)).toBeLessThanOrEqual(20 * 10 * 1.05);
  // A machine with much else to do sends fewer than the limit allows; but the others go on.
  expect(all.filter((at) => at > killedAt + 3_000).length).toBeGreaterThan(10);

  const rows = await stage.sql<{ publication: string; attempts: number; vanished: number }>(
    `SELECT d.publication, d.attempts,
            (SELECT count(*)::int FROM onefold.publication_attempts a
             WHERE a.publication = d.publication AND a.ended IS DISTINCT FROM 'delivered') AS vanished
     FROM onefold.publication_deliveries d WHERE d.state = 'delivered' ORDER BY d.ended_at`,
  );
  // Only what was just being sent when the worker was killed had another attempt.
  expect(rows.filter(({ attempts, vanished }) => attempts !== 1 + vanished)).toEqual([]);
  expect(rows.filter(({ attempts }) => attempts > 1).length).toBeLessThanOrEqual(10);
  const waited = rows.filter(({ attempts }) => attempts === 1).slice(-20);
  for (const { publication } of waited) {
    expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered', attempts: 1 });
  }
  await killWorkers();
});

test('a limit of two requests a second is kept, and used', async () => {
  const { stage, receiver } = await createLimited(2, 30);
  await spawnSender(stage);
  await until('the first request', () => receiver.requests.length > 0);
  await sleep(12_000);
  const all = moments(receiver);
  expect(mostWithin(all, 10_000)).toBeLessThanOrEqual(21);
  expect(all.length).toBeGreaterThan(14);
});

test('the count of moments within a stretch includes both ends', () => {
  expect(mostWithin([], 10)).toBe(0);
  expect(mostWithin([0, 10, 20], 10)).toBe(2);
  expect(mostWithin([20, 0, 10, 11], 10)).toBe(3);
});
