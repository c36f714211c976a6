import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ActivityDependencies } from '../../src/activities/dependencies.js';
import { sweepClosedDeliveries } from '../../src/activities/sweep-closed-deliveries.js';
import { operationsContext } from '../../src/operations/context.js';
import { showDelivery } from '../../src/operations/deliveries/show-delivery.js';
import type { SweepResult } from '../../src/workflows/contract.js';
import { deliverPublicationName, deliveryTaskQueue } from '../../src/workflows/delivery-contract.js';
import { until } from '../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from '../publisher/support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../publisher/support/scripted-receiver.js';

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
beforeAll(async () => {
  stage = await createDeliveryStage();
  receiver = await startScriptedReceiver();
});
afterAll(async () => {
  await receiver?.close();
  await stage?.close();
});

const context = () => stage.onefold[operationsContext];

async function sweep(client = context().client): Promise<SweepResult> {
  await stage.sql('DELETE FROM onefold.sweeps');
  const { ledger, metrics } = context();
  const deps: Partial<ActivityDependencies> = { ledger, metrics, client, log: pino({ level: 'silent' }) };
  const { taskQueue } = stage;
  const run = () => sweepClosedDeliveries(deps as ActivityDependencies);
  return new MockActivityEnvironment({ taskQueue }).run(run) as Promise<SweepResult>;
}

/** A delivery in the pause after its first attempt. */
async function pausing() {
  receiver.answer(() => 503);
  const { id: endpoint } = await stage.endpoint(receiver.url, { types: ['order.confirmed'], schedule: ['1 hour'] });
  const { publication, eventId } = await stage.publish();
  await until('it pauses', async () => (await stage.row(endpoint, publication)).last_code === 'http_503');
  await stage.sql(`UPDATE onefold.endpoints SET types = '{}' WHERE id = $1`, [endpoint]);
  return { endpoint, publication, eventId };
}

async function listed(endpoint: string, publication: string, status: string): Promise<void> {
  const { workflowId } = stage.handle(endpoint, publication);
  await until(`${status} in visibility`, async () => {
    const query = `WorkflowId = '${workflowId}' AND ExecutionStatus = '${status}'`;
    return (await stage.client.workflow.count(query)).count > 0;
  });
}

const lettersOf = (publication: string) =>
  stage.sql('SELECT code, type, input, occurrences, closed_at FROM onefold.dead_letters WHERE event_id = $1', [
    publication,
  ]);

test('a terminated delivery ends as a dead letter; sweeping again changes nothing; a replay sends it and closes it', async () => {
  const { endpoint, publication, eventId } = await pausing();
  await stage.handle(endpoint, publication).terminate('an operator');
  await listed(endpoint, publication, 'Terminated');
  expect(await sweep()).toMatchObject({ deadLettered: 1, failed: 0 });
  expect(await stage.row(endpoint, publication)).toMatchObject({ state: 'dead_lettered', last_code: 'terminated' });
  const [letter] = await lettersOf(publication);
  expect(letter).toMatchObject({ code: 'terminated', type: 'order.confirmed', occurrences: 1, closed_at: null });
  expect(JSON.parse(letter?.input)).toMatchObject({ endpoint, publication, eventId, type: 'order.confirmed' });
  expect(await sweep()).toMatchObject({ deadLettered: 0, failed: 0 });

  receiver.answer(() => 200);
  await stage.onefold.tenant('').resend({ publication, endpoint }, { by: 'bob', reason: 'a slip' });
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered' });
  expect(await sweep()).toMatchObject({ deadLettered: 0, failed: 0 });
  expect(await lettersOf(publication)).toMatchObject([{ occurrences: 1, closed_at: expect.any(Date) }]);
});

test('a run that was terminated after it was delivered changes nothing', async () => {
  const { endpoint, publication } = await pausing();
  await stage.handle(endpoint, publication).terminate('an operator');
  await stage.sql(`UPDATE onefold.publication_deliveries SET state = 'delivered' WHERE publication = $1`, [
    publication,
  ]);
  await listed(endpoint, publication, 'Terminated');
  expect(await sweep()).toMatchObject({ deadLettered: 0, failed: 0 });
  expect(await lettersOf(publication)).toEqual([]);
});

test('Temporal is not asked about runs whose end the ledger has', async () => {
  const { endpoint, publication } = await pausing();
  const handle = stage.handle(endpoint, publication);
  await handle.terminate('an operator');
  await listed(endpoint, publication, 'Terminated');
  await sweep();
  const asked: string[] = [];
  const { client } = context();
  const counting = Object.create(client, {
    workflow: {
      value: Object.create(client.workflow, {
        getHandle: {
          value: (id: string) => {
            asked.push(id);
            return client.workflow.getHandle(id);
          },
        },
      }),
    },
  }) as typeof client;
  expect((await sweep(counting)).looked).toBeGreaterThan(0);
  expect(asked).not.toContain(handle.workflowId);
});

test.each<[string, () => unknown]>([
  [
    'of another delivery',
    () => ({
      version: 1,
      tenant: '',
      endpoint: 'ep_else',
      publication: 'else',
      eventId: 'msg_else',
      type: 'order.else',
      publishedAt: new Date().toISOString(),
      policy: { pausesMs: [], maximumElapsedMs: 1, timeoutMs: 1 },
      searchAttributes: [],
    }),
  ],
  ['that is no delivery', () => 'a slip of the hand'],
])('an input %s gets a dead letter under its own key, and nothing of it is recorded there', async (_what, input) => {
  const { id: endpoint } = await stage.endpoint(receiver.url, { types: [`none.${randomUUID()}`] });
  const publication = `by-hand:${randomUUID()}`;
  const handle = await stage.client.workflow.start(deliverPublicationName, {
    workflowId: stage.handle(endpoint, publication).workflowId,
    taskQueue: deliveryTaskQueue(stage.taskQueue),
    args: [input()],
    // Nobody may carry it before it is closed.
    startDelay: '1 hour',
  });
  await handle.terminate('an operator');
  await listed(endpoint, publication, 'Terminated');
  expect(await sweep()).toMatchObject({ deadLettered: 1, failed: 0 });
  expect(await lettersOf(publication)).toMatchObject([{ code: 'terminated', type: 'unknown' }]);
  expect(await lettersOf('else')).toEqual([]);
  await expect(showDelivery(context(), { publication, endpoint })).rejects.toMatchObject({
    code: 'publication_unknown',
  });
});
