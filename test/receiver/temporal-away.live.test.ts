import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { connectClient, type TemporalClient } from '../../src/runtime/temporal.js';
import { createHarness, type OpenReceiver, type ReceiverHarness } from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';
import { type SwitchableProxy, startProxy } from './support/switchable-proxy.js';

let harness: ReceiverHarness;
let proxy: SwitchableProxy;
let temporal: TemporalClient;
let receiver: OpenReceiver;
const { source, effects } = shop();

beforeAll(async () => {
  harness = await createHarness();
});
beforeEach(async () => {
  proxy = await startProxy(inject('temporalAddress'));
  temporal = connectClient({ address: proxy.address, environment: {} });
  receiver = await harness.open({ sources: [{ source, effects }], temporal });
});
afterEach(async () => {
  await temporal.close();
  await proxy.close();
});
afterAll(() => harness.close());

/** Sends one event and measures the answer. */
async function timed(id: string = randomUUID()) {
  const begun = performance.now();
  const answer = await receiver.send('shop', signed(source, id));
  return { ...answer, ms: performance.now() - begun };
}

/** How long until events are taken again. */
async function recovered(): Promise<number> {
  const begun = performance.now();
  await expect.poll(async () => (await timed()).status, { timeout: 30_000, interval: 50 }).toBe(202);
  return performance.now() - begun;
}

test.each(['refuse', 'silent'] as const)(
  'a receiver that boots while Temporal would %s answers 503 with Retry-After within 2 s, and recovers by itself',
  async (state) => {
    await proxy.become(state);
    for (let times = 0; times < 3; times++) {
      const answer = await timed();
      expect(answer.status).toBe(503);
      expect(answer.json.code).toBe('temporal_unavailable');
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(answer.ms).toBeLessThan(2_000);
    }
    await proxy.become('up');
    expect(await recovered()).toBeLessThan(10_000);
  },
);

test.each(['refuse', 'silent'] as const)(
  'a receiver whose connection goes to %s in mid-life answers 503 within 2 s, and recovers by itself',
  async (state) => {
    expect((await timed()).status).toBe(202);
    await proxy.become(state);
    const answers = await Promise.all(Array.from({ length: 10 }, () => timed()));
    for (const answer of answers) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(answer.ms).toBeLessThan(2_000);
    }
    await proxy.become('up');
    expect(await recovered()).toBeLessThan(10_000);
  },
);

test('a first delivery that met Temporal away leaves no mark: the redelivery is a first run', async () => {
  await proxy.become('refuse');
  const id = randomUUID();
  expect((await timed(id)).status).toBe(503);
  await proxy.become('up');
  await recovered();
  expect((await timed(id)).json.path).toBe('first_run');
});
