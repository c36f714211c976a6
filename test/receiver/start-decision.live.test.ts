import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type OpenReceiver, type ReceiverHarness } from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';

let harness: ReceiverHarness;
let receiver: OpenReceiver;
const { source, effects } = shop();

beforeAll(async () => {
  harness = await createHarness();
  await harness.startWorker();
  receiver = await harness.open({ sources: [{ source, effects }] });
});

afterAll(() => harness.close());

const handle = (id: string) => harness.temporal.client.workflow.getHandle(`event//shop/${id}`);
const runsOf = async (id: string): Promise<number> => {
  const query = `WorkflowId = 'event//shop/${id}'`;
  // The list follows the starts by some milliseconds.
  await new Promise((resolve) => setTimeout(resolve, 300));
  return (await harness.temporal.client.workflow.count(query)).count;
};

test('of 50 parallel deliveries one is a first run, 49 are named duplicates, and one workflow runs', async () => {
  const id = randomUUID();
  const delivery = signed(source, id, { data: { do: 'wait' } });
  const answers = await Promise.all(Array.from({ length: 50 }, () => receiver.send('shop', delivery)));
  const paths = answers.map(({ json }) => json.path).sort();
  expect(paths.filter((path) => path === 'first_run')).toHaveLength(1);
  expect(paths.filter((path) => path === 'in_progress_elsewhere')).toHaveLength(49);
  expect(answers.every(({ status }) => status === 202)).toBe(true);
  expect(await runsOf(id)).toBe(1);
});

test('of 50 parallel redeliveries of a terminated event exactly one starts the new run', async () => {
  const id = randomUUID();
  const delivery = signed(source, id, { data: { do: 'wait' } });
  await receiver.send('shop', delivery);
  await handle(id).terminate('test');
  // A busy machine may answer some with 503 in time; their provider sends them again.
  const send = async (): Promise<string> => {
    const { status, json } = await receiver.send('shop', delivery);
    return status === 503 ? send() : json.path;
  };
  const paths = await Promise.all(Array.from({ length: 50 }, send));
  // The answer to the one that started may have been lost on such a machine, but never may two have started.
  expect(paths.filter((path) => path === 'retry_after_failure').length).toBeLessThanOrEqual(1);
  expect(paths.filter((path) => path === 'in_progress_elsewhere').length).toBeGreaterThanOrEqual(49);
  expect(await runsOf(id)).toBe(2);
});

test('a redelivery of a failed event starts it again, and its completion is final', async () => {
  const id = randomUUID();
  await receiver.send('shop', signed(source, id, { data: { do: 'fail' } }));
  await expect(handle(id).result()).rejects.toThrow();
  const retried = await receiver.send('shop', signed(source, id, {}));
  expect(retried.json.path).toBe('retry_after_failure');
  await handle(id).result();
  const done = await receiver.send('shop', signed(source, id, {}));
  expect(done.json).toEqual({
    event: `shop/${id}`,
    path: 'duplicate_done',
    outcome: 'done',
    result: { 'ship-shop': { shipment: 's-1' } },
  });
});

test('a redelivery of a cancelled event starts it again', async () => {
  const id = randomUUID();
  const delivery = signed(source, id, { data: { do: 'wait' } });
  await receiver.send('shop', delivery);
  await handle(id).cancel();
  await expect(handle(id).result()).rejects.toThrow();
  expect((await receiver.send('shop', delivery)).json.path).toBe('retry_after_failure');
});

test('an event whose execution was deleted is a first run again', async () => {
  const id = randomUUID();
  const delivery = signed(source, id);
  await receiver.send('shop', delivery);
  await handle(id).result();
  const { client } = harness.temporal;
  await client.workflowService.deleteWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: `event//shop/${id}` },
  });
  await expect
    .poll(async () => (await receiver.send('shop', delivery)).json.path, { timeout: 10_000 })
    .toBe('first_run');
});

test('a duplicate with another body keeps its path and is flagged', async () => {
  const id = randomUUID();
  await receiver.send('shop', signed(source, id, { data: { do: 'wait', order: 1 } }));
  const answer = await receiver.send('shop', signed(source, id, { data: { do: 'wait', order: 2 } }));
  expect(answer.json.path).toBe('in_progress_elsewhere');
  const line = receiver.lines.findLast(({ event }) => event === `shop/${id}`);
  expect(line).toMatchObject({ msg: 'webhook.claim', path: 'in_progress_elsewhere', bodyDiffers: true, status: 202 });
});

test('what failed with another body is not started again where the source refuses other bodies', async () => {
  const strict = shop('strict', { refuseOtherBody: true });
  const { send } = await harness.open({ sources: [strict] });
  const id = randomUUID();
  const strictHandle = harness.temporal.client.workflow.getHandle(`event//strict/${id}`);
  await send('strict', signed(strict.source, id, { data: { do: 'fail' } }));
  await expect(strictHandle.result()).rejects.toThrow();
  const refused = await send('strict', signed(strict.source, id, { data: { do: 'complete' } }));
  expect(refused.json.code).toBe('body_differs');
  expect((await strictHandle.describe()).status.name).toBe('FAILED');
  const same = await send('strict', signed(strict.source, id, { data: { do: 'fail' } }));
  expect(same.json.path).toBe('retry_after_failure');
});

test('a start carries memo, summary and the registered search attributes, and no timeout', async () => {
  const id = randomUUID();
  await receiver.send('shop', signed(source, id, { data: { do: 'wait' } }));
  const described = await handle(id).describe();
  expect(described.memo).toMatchObject({ id, type: 'order.paid', digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(described.searchAttributes).toMatchObject({ OnefoldSource: ['shop'], OnefoldType: ['order.paid'] });
  expect(await described.staticSummary()).toBe(`shop/${id} · order.paid`);
  const { executionConfig } = described.raw;
  expect(Number(executionConfig?.workflowExecutionTimeout?.seconds ?? 0)).toBe(0);
  expect(Number(executionConfig?.workflowRunTimeout?.seconds ?? 0)).toBe(0);
});

test('an abandoned event is answered 200 with that outcome', async () => {
  const id = randomUUID();
  await receiver.send('shop', signed(source, id, { data: { do: 'abandon' } }));
  await handle(id).result();
  const answer = await receiver.send('shop', signed(source, id, { data: { do: 'abandon' } }));
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({ path: 'duplicate_done', outcome: 'abandoned' });
});

test('hazard-14: a result that is not ours is answered without result and outcome, and logged', async () => {
  const id = randomUUID();
  const content = { data: { do: 'answer', answer: { version: 1, outcome: 'done', effects: 'all' } } };
  await receiver.send('shop', signed(source, id, content));
  await handle(id).result();
  const answer = await receiver.send('shop', signed(source, id, content));
  expect(answer.json).toEqual({ event: `shop/${id}`, path: 'duplicate_done' });
  expect(receiver.lines).toContainEqual(
    expect.objectContaining({ msg: 'webhook.result_unrecognised', eventKey: `event//shop/${id}` }),
  );
});

test('a result leaves with every digit it was stored with', async () => {
  const id = randomUUID();
  const content = { data: { json: '{"amount":9007199254740993}' } };
  await receiver.send('shop', signed(source, id, content));
  await handle(id).result();
  const answer = await receiver.send('shop', signed(source, id, content));
  expect(answer.text).toContain('"result":{"ship-shop":{"amount":9007199254740993}}');
});

test('a source that does not expose results answers the outcome alone', async () => {
  const quiet = shop('quiet', { exposeResult: false });
  const { send } = await harness.open({ sources: [quiet] });
  const id = randomUUID();
  await send('quiet', signed(quiet.source, id));
  await harness.temporal.client.workflow.getHandle(`event//quiet/${id}`).result();
  expect((await send('quiet', signed(quiet.source, id))).json).toEqual({
    event: `quiet/${id}`,
    path: 'duplicate_done',
    outcome: 'done',
  });
});

test('a result that stays in the ledger is read from it, and left out while PostgreSQL is away', async () => {
  const id = randomUUID();
  const end = { effect: 'ship-shop', businessKey: `key:${id}`, outcome: 'done', attempts: 1, fence: 1 };
  const result = { version: 1, event: `shop/${id}`, outcome: 'done' };
  const content = {
    data: { do: 'answer', answer: { ...result, effects: [{ ...end, result: { stored: true, bytes: 70_000 } }] } },
  };
  await harness.ledger.database.query(
    `INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest, result)
     VALUES ('', 'ship-shop', $1, 'done', 1, gen_random_uuid(), 'k', 'e', 'd', '{"big":true}')`,
    [`key:${id}`],
  );
  await receiver.send('shop', signed(source, id, content));
  await handle(id).result();
  const answer = await receiver.send('shop', signed(source, id, content));
  expect(answer.json.result).toEqual({ 'ship-shop': { big: true } });
  const away = { ...harness.ledger.database, query: async () => Promise.reject(new Error('away')) };
  const { send } = await harness.open({
    sources: [{ source, effects }],
    ledger: { ...harness.ledger, database: away },
  });
  const without = await send('shop', signed(source, id, content));
  expect(without.json).toEqual({ event: `shop/${id}`, path: 'duplicate_done', outcome: 'done' });
});
