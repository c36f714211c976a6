import { randomUUID } from 'node:crypto';
import { Connection, WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startDelivery } from '../../../src/publisher/start-delivery.js';
import { until } from '../../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';
import { readHistory } from './support/delivery-history.js';

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
let endpoint: string;
beforeAll(async () => {
  const namespace = `forgetful-${randomUUID()}`;
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 2 as never },
  });
  await connection.close();
  receiver = await startScriptedReceiver();
  stage = await createDeliveryStage({ namespace, worker: false });
  // A namespace takes a moment to be known to all parts of the server.
  await until('the namespace', () =>
    stage.client.workflow.count().then(
      () => true,
      () => false,
    ),
  );
  await stage.worker();
  ({ id: endpoint } = await stage.endpoint(receiver.url, { schedule: ['1 hour'] }));
});
afterAll(async () => {
  await stage?.close();
  await receiver?.close();
});

const forgotten = (publication: string) =>
  until('the end of the retention', () =>
    stage
      .handle(endpoint, publication)
      .describe()
      .then(
        () => false,
        (error) => error instanceof WorkflowNotFoundError,
      ),
  );

/** As a relay does which took the row long ago, and stood still since. */
async function startLate(publication: string, eventId: string): Promise<string> {
  return startDelivery(
    { client: stage.client, taskQueue: stage.taskQueue, searchAttributes: new Set() },
    {
      ...{ tenant: '', endpoint, publication, eventId, type: 'order.confirmed' },
      ...{ publishedAt: new Date(), retried: true, waitedMs: 0, typePausesMs: null, typeElapsedMs: null },
      ...{ endpointTimeoutMs: null, endpointPausesMs: null, endpointElapsedMs: null },
    },
  );
}

test('a delivered publication that Temporal has forgotten is not sent again by a relay that comes late', async () => {
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered' });
  expect(await startLate(publication, eventId)).toBe('already_started');
  await forgotten(publication);

  expect(await startLate(publication, eventId)).toBe('started');
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'already_delivered', attempts: 0 });
  expect(receiver.of(eventId)).toHaveLength(1);
  const attempts = await stage.sql('SELECT ended FROM onefold.publication_attempts WHERE publication = $1', [
    publication,
  ]);
  expect(attempts).toEqual([{ ended: 'delivered' }]);
  expect(await stage.row(endpoint, publication)).toMatchObject({ state: 'delivered', attempts: 1 });
});

test('an abandoned one is not sent again either', async () => {
  receiver.answer(() => 503);
  const { publication, eventId } = await stage.publish();
  await until('it pauses', async () =>
    readHistory(stage.handle(endpoint, publication)).then(
      ({ waits }) => waits.length > 0,
      () => false,
    ),
  );
  await stage
    .handle(endpoint, publication)
    .executeUpdate('abandon', { args: [{ by: 'ann', reason: 'no longer needed' }] });
  await forgotten(publication);
  receiver.answer(() => 200);

  expect(await startLate(publication, eventId)).toBe('started');
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'abandoned', abandoned: { by: 'ann' } });
  expect(receiver.of(eventId)).toHaveLength(1);
  expect(await stage.row(endpoint, publication)).toMatchObject({ state: 'abandoned' });
});
