import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createHarness, type OpenReceiver, type ReceiverHarness } from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';

let harness: ReceiverHarness;
let receiver: OpenReceiver;
const { source, effects } = shop('shop', { acknowledge: 'settled', settleWithin: '5 seconds' });

beforeAll(async () => {
  harness = await createHarness();
  await harness.startWorker();
  receiver = await harness.open({ sources: [{ source, effects }] });
});

afterAll(() => harness.close());

const handle = (id: string) => harness.temporal.client.workflow.getHandle(`event//shop/${id}`);

/** Sends an event that waits, and resolves once its workflow has begun. */
async function begin(id: string): Promise<{ answer: ReturnType<OpenReceiver['send']> }> {
  const answer = receiver.send('shop', signed(source, id, { data: { do: 'wait' } }));
  await expect
    .poll(() =>
      handle(id)
        .describe()
        .then(({ historyLength }) => historyLength > 3)
        .catch(() => false),
    )
    .toBe(true);
  return { answer };
}

test('the request is answered with the outcome as soon as the event ends', async () => {
  const id = randomUUID();
  const { answer } = await begin(id);
  await handle(id).signal('release');
  expect((await answer).json).toEqual({
    event: `shop/${id}`,
    path: 'first_run',
    outcome: 'done',
    result: { 'ship-shop': { shipment: 's-1' } },
  });
});

test('the deadline counts from the arrival of the request', async () => {
  const quick = shop('quick', { acknowledge: 'settled', settleWithin: 400 });
  const { send } = await harness.open({ sources: [quick] });
  const begun = performance.now();
  const answer = await send('quick', signed(quick.source, randomUUID(), { data: { do: 'wait' } }));
  expect(answer.status).toBe(202);
  expect(performance.now() - begun).toBeLessThan(900);
});

test('waiting asks Temporal a few times, not hundreds of times in its last second', async () => {
  const quick = shop('quick', { acknowledge: 'settled', settleWithin: 1_500 });
  const { workflowService } = harness.temporal.client;
  const polls = vi.spyOn(workflowService, 'getWorkflowExecutionHistory');
  const { send } = await harness.open({ sources: [quick] });
  await send('quick', signed(quick.source, randomUUID(), { data: { do: 'wait' } }));
  expect(polls.mock.calls.length).toBeGreaterThan(0);
  expect(polls.mock.calls.length).toBeLessThan(5);
  polls.mockRestore();
});

test('hazard-25-settled-meets-reset: a reset while the request waits is answered 202, never 500', async () => {
  const id = randomUUID();
  const { answer } = await begin(id);
  const { client } = harness.temporal;
  await client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: `event//shop/${id}` },
    reason: 'test',
    requestId: randomUUID(),
    // The end of the first workflow task.
    workflowTaskFinishEventId: 4 as never,
  });
  expect((await answer).status).toBe(202);
  expect((await handle(id).describe()).status.name).toBe('RUNNING');
});

test('hazard-25: terminated or cancelled while the request waits is answered 202', async () => {
  for (const end of ['terminate', 'cancel'] as const) {
    const id = randomUUID();
    const { answer } = await begin(id);
    await handle(id)[end]();
    expect((await answer).status).toBe(202);
  }
});

test('the wait ends when the caller is gone', async () => {
  const abort = new AbortController();
  const id = randomUUID();
  const { headers, body } = signed(source, id, { data: { do: 'wait' } });
  const begun = performance.now();
  const sent = fetch(`${receiver.http.url}/shop`, {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
    signal: abort.signal,
  });
  setTimeout(() => abort.abort(), 500);
  await expect(sent).rejects.toThrow();
  await expect
    .poll(() => receiver.lines.some(({ event }) => event === `shop/${id}`), { timeout: 2_000, interval: 20 })
    .toBe(true);
  expect(performance.now() - begun).toBeLessThan(3_000);
});
