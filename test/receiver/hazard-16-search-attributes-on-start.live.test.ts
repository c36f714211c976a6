import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectClient, readSearchAttributes, type TemporalClient } from '../../src/runtime/temporal.js';
import { createHarness, type ReceiverHarness } from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';

let harness: ReceiverHarness;
let bare: TemporalClient;
const { source, effects } = shop();

beforeAll(async () => {
  harness = await createHarness();
  // Search attributes are registered by namespace, so this one has none of Onefold's.
  const namespace = `bare-${randomUUID()}`;
  const { workflowService } = harness.temporal.client;
  await workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  bare = connectClient({ address: harness.temporal.address, namespace, environment: {} });
  await untilKnown(bare);
}, 30_000);

afterAll(async () => {
  await harness.close();
  await bare.close();
});

/** A namespace is known to the whole server only some seconds after its registration. */
async function untilKnown({ client, namespace }: TemporalClient): Promise<void> {
  for (;;) {
    try {
      await client.workflow.count();
      await readSearchAttributes(client, namespace);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

test('the registered attributes are found, and none in a namespace without them', async () => {
  const { client, namespace } = harness.temporal;
  expect([...(await readSearchAttributes(client, namespace))].sort()).toEqual([
    'OnefoldBusinessKey',
    'OnefoldEndpoint',
    'OnefoldSource',
    'OnefoldState',
    'OnefoldType',
  ]);
  expect(await readSearchAttributes(bare.client, bare.namespace)).toEqual(new Set());
});

test('an attribute that is not registered is not set, and the start succeeds', async () => {
  const { send } = await harness.open({ sources: [{ source, effects }], temporal: bare });
  const id = randomUUID();
  expect((await send('shop', signed(source, id))).status).toBe(202);
  const described = await bare.client.workflow.getHandle(`event//shop/${id}`).describe();
  expect(described.searchAttributes).toEqual({});
});

test('a start that Temporal refuses is 503 and an alarm, never a 4xx, and the next one names no attribute', async () => {
  // A receiver that believes what it read from a namespace with attributes, and starts in one without.
  const misled = Object.create(bare.client, {
    connection: {
      value: Object.create(bare.client.connection, {
        operatorService: { value: harness.temporal.client.connection.operatorService },
      }),
    },
  }) as TemporalClient['client'];
  const temporal = { ...bare, client: misled, namespace: harness.temporal.namespace };
  const { send, lines } = await harness.open({ sources: [{ source, effects }], temporal });
  const refused = await send('shop', signed(source, randomUUID()));
  expect(refused.status).toBe(503);
  expect(refused.json.code).toBe('start_refused');
  expect(refused.headers.get('retry-after')).toBe('60');
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'webhook.start_refused', level: 'error' }));
  expect((await send('shop', signed(source, randomUUID()))).status).toBe(202);
});
