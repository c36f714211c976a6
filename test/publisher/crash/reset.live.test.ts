import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
let endpoint: string;
beforeAll(async () => {
  receiver = await startScriptedReceiver();
  stage = await createDeliveryStage();
  ({ id: endpoint } = await stage.endpoint(receiver.url));
});
afterAll(async () => {
  await stage?.close();
  await receiver?.close();
});

/** As `temporal workflow reset` does, to the end of the first workflow task. */
async function reset(publication: string): Promise<void> {
  await stage.client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: stage.handle(endpoint, publication).workflowId },
    reason: 'test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: 4 as never,
  });
}

test('a reset of a delivered delivery sends nothing', async () => {
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered' });
  await reset(publication);
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'already_delivered' });
  expect(receiver.of(eventId)).toHaveLength(1);
  expect(await stage.row(endpoint, publication)).toMatchObject({ state: 'delivered', attempts: 1 });
});

test('a reset of a dead-lettered delivery sends it again under its webhook-id, and closes the dead letter', async () => {
  receiver.answer(() => 404);
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(endpoint, publication)).toEqual({ failed: 'http_404' });
  receiver.answer(() => 200);
  await reset(publication);
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered', eventId });
  expect(receiver.of(eventId)).toHaveLength(2);
  const letters = await stage.sql('SELECT code, closed_by FROM onefold.dead_letters WHERE event_id = $1', [
    publication,
  ]);
  expect(letters).toEqual([{ code: 'http_404', closed_by: 'delivery' }]);
});
