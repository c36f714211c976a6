import { afterAll, beforeAll, expect, test } from 'vitest';
import { operationsContext } from '../../src/operations/context.js';
import { retryDeliveryNow } from '../../src/operations/retry-delivery-now.js';
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

const bob = { by: 'bob', reason: 'they are back' };

test('a held delivery is told to look now, once for each wish, and an ended one is refused', async () => {
  const context = stage.onefold[operationsContext];
  receiver.answer(() => 200);
  const { id: endpoint } = await stage.endpoint(receiver.url);
  await stage.onefold.endpoints.pause(endpoint);
  const { publication } = await stage.publish();
  const delivery = { endpoint, publication };
  await until('the hold', async () => {
    const seen = await retryDeliveryNow(context, delivery, { ...bob, dryRun: true }).catch(() => undefined);
    return seen?.found?.phase === 'held';
  });
  const wish = { ...bob, id: 'mine' };
  const told = await retryDeliveryNow(context, delivery, wish);
  expect(told).toMatchObject({ ...delivery, outcome: 'told', found: { phase: 'held', attempts: 0 } });
  expect(await retryDeliveryNow(context, delivery, wish)).toMatchObject({ outcome: 'told_before' });
  expect(
    await stage.sql(`SELECT kind, actor, outcome FROM onefold.acts WHERE id = $1`, [`${told.deliveryKey}#mine`]),
  ).toEqual([{ kind: 'retry_now', actor: 'bob', outcome: 'told' }]);
  expect(receiver.requests).toHaveLength(0);
  await stage.onefold.endpoints.resume(endpoint);
  await stage.end(endpoint, publication);
  await expect(retryDeliveryNow(context, delivery, bob)).rejects.toMatchObject({
    code: 'retry_refused',
    message: expect.stringContaining('it was delivered'),
  });
  await expect(retryDeliveryNow(context, { endpoint, publication: 'none' }, bob)).rejects.toMatchObject({
    code: 'publication_unknown',
  });
});
