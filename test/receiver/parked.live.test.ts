import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCatalogue } from '../../src/effects/catalogue.js';
import { park } from '../../src/effects/recovery.js';
import { measureParked } from '../../src/operations/measure-parked.js';
import { createMetrics } from '../../src/runtime/metrics.js';
import type { Source } from '../../src/sources/define-source.js';
import { shop as shopEvents } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createHarness as createWorkerHarness, type Harness } from '../setup/harness.js';
import { type OpenReceiver, openReceiver } from './support/receiver-harness.js';
import { signed } from './support/sources.js';

const charge = shopEvents.externalEffect('charge', {
  on: 'order.paid',
  businessKey: ({ id }) => `charge:${id}`,
  perform: async () => {
    throw new Error('the connection broke');
  },
  recovery: park(),
});

let harness: Harness;
let receiver: OpenReceiver;
beforeAll(async () => {
  harness = await createWorkerHarness({ sources: [shopEvents], effects: [charge] });
  receiver = await openReceiver({
    ledger: harness.ledger,
    temporal: { client: harness.client, namespace: 'default', address: '', close: async () => {} },
    taskQueue: harness.taskQueue,
    sources: [{ source: shopEvents as Source, effects: [charge] }],
  });
});
afterAll(async () => {
  await receiver?.receiver.close();
  await receiver?.http.close();
  await harness?.close();
});

test('while an event waits for a person, a redelivery is told so, and a scrape counts it', async () => {
  const id = randomUUID();
  const deliver = () => receiver.send('shop', signed(shopEvents as Source, id));
  expect((await deliver()).status).toBe(202);
  const answer = await until('the park', async () => {
    const told = await deliver();
    return told.json.outcome === 'parked' && told;
  });
  expect(answer.status).toBe(202);
  expect(answer.json).toEqual({ event: `shop/${id}`, path: 'in_progress_elsewhere', outcome: 'parked' });

  const metrics = createMetrics();
  const context = { ...harness, metrics, catalogue: createCatalogue([], []) } as never;
  await measureParked(context);
  expect(await metrics.registry.metrics()).toContain('onefold_parked_effects 1');
  expect(await harness.metrics.registry.metrics()).toContain('onefold_parked_total{effect="charge"} 1');
});

test('how many wait is not said where the ledger cannot be asked', async () => {
  const metrics = createMetrics();
  expect(await metrics.registry.metrics()).not.toMatch(/onefold_parked_effects \d/);
  metrics.parkedNow.set(3);
  await measureParked({
    metrics,
    get ledger() {
      throw new Error('no DATABASE_URL');
    },
  } as never);
  expect(await metrics.registry.metrics()).not.toMatch(/onefold_parked_effects \d/);
});
