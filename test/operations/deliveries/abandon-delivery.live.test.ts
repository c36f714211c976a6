import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { operationsContext } from '../../../src/operations/context.js';
import { abandonDelivery } from '../../../src/operations/deliveries/abandon-delivery.js';
import { replayDelivery } from '../../../src/operations/deliveries/replay-delivery.js';
import { showDelivery } from '../../../src/operations/deliveries/show-delivery.js';
import { until } from '../../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from '../../publisher/support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../../publisher/support/scripted-receiver.js';

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
beforeAll(async () => {
  stage = await createDeliveryStage();
});
afterAll(() => stage?.close());
beforeEach(async () => {
  receiver = await startScriptedReceiver();
});
afterEach(async () => {
  await receiver.close();
  await stage.sql(`UPDATE onefold.endpoints SET state = 'removed'`);
});

const context = () => stage.onefold[operationsContext];
const bob = { by: 'bob', reason: 'they closed the account' };

const letters = (publication: string) =>
  stage.sql('SELECT closed_by FROM onefold.dead_letters WHERE event_id = $1', [publication]);

async function dead() {
  receiver.answer(() => 404);
  const { id: endpoint } = await stage.endpoint(receiver.url);
  const { publication } = await stage.publish();
  await stage.end(endpoint, publication);
  return { endpoint, publication };
}

test('a dead-lettered delivery of a removed endpoint is given up, its letter closed and the act kept', async () => {
  const delivery = await dead();
  await stage.onefold.endpoints.remove(delivery.endpoint);
  expect(await letters(delivery.publication)).toEqual([{ closed_by: null }]);
  const wish = { ...bob, id: randomUUID() };
  const given = await abandonDelivery(context(), delivery, wish);
  expect(given).toMatchObject({ ...delivery, id: wish.id, outcome: 'abandoned', state: 'dead_lettered' });
  expect(await letters(delivery.publication)).toEqual([{ closed_by: 'abandon' }]);
  expect(await showDelivery(context(), delivery)).toMatchObject({
    state: 'abandoned',
    abandoned: bob,
    deadLetter: { closedBy: 'abandon' },
    acts: [{ kind: 'abandon', ...bob, outcome: 'abandoned', id: `${given.deliveryKey}#${wish.id}` }],
  });
  expect(await abandonDelivery(context(), delivery, wish)).toMatchObject({ outcome: 'abandoned' });
  expect(await abandonDelivery(context(), delivery, bob)).toMatchObject({ outcome: 'already_abandoned' });
  expect((await showDelivery(context(), delivery)).acts).toHaveLength(1);
});

test('a queued delivery is given up without ever being started', async () => {
  const { id: endpoint } = await stage.endpoint(receiver.url);
  await stage.onefold.endpoints.pause(endpoint);
  const { publication } = await stage.publish();
  const delivery = { endpoint, publication };
  const handle = stage.handle(endpoint, publication);
  await until('it runs', async () => (await stage.row(endpoint, publication)).state === 'started');
  await handle.terminate('as if it had never been started');
  await stage.sql(
    `UPDATE onefold.publication_deliveries SET state = 'queued', started_at = NULL, relay_until = 'infinity'
     WHERE publication = $1`,
    [publication],
  );
  expect(await abandonDelivery(context(), delivery, bob)).toMatchObject({ outcome: 'abandoned', state: 'queued' });
  expect(await stage.row(endpoint, publication)).toMatchObject({ state: 'abandoned', started_at: null });
  await stage.onefold.endpoints.resume(endpoint);
  expect(receiver.requests).toHaveLength(0);
});

test('a delivery under way is given up by its workflow, and the same wish again is answered the same', async () => {
  receiver.answer(() => 503);
  const { id: endpoint } = await stage.endpoint(receiver.url, { schedule: ['1 hour'] });
  const { publication } = await stage.publish();
  const delivery = { endpoint, publication };
  await until('it pauses', async () => (await stage.row(endpoint, publication)).last_code === 'http_503');
  const wish = { ...bob, id: randomUUID() };
  expect(await abandonDelivery(context(), delivery, wish)).toMatchObject({ outcome: 'abandoned', state: 'started' });
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'abandoned', abandoned: bob });
  expect(await abandonDelivery(context(), delivery, wish)).toMatchObject({ outcome: 'abandoned' });
  expect((await showDelivery(context(), delivery)).acts).toMatchObject([{ kind: 'abandon', ...bob }]);
});

test('a delivered one is refused, and what was sent again since is not given up by the former wish', async () => {
  const delivery = await dead();
  const wish = { ...bob, id: randomUUID() };
  await abandonDelivery(context(), delivery, wish);
  receiver.answer(() => 200);
  await replayDelivery(context(), delivery, bob);
  await stage.end(delivery.endpoint, delivery.publication);
  expect(await abandonDelivery(context(), delivery, wish)).toMatchObject({ outcome: 'superseded', state: 'delivered' });
  await expect(abandonDelivery(context(), delivery, bob)).rejects.toMatchObject({
    code: 'abandon_refused',
    message: expect.stringContaining('it was delivered'),
  });
});

test('an unknown delivery, another tenant and a wish without a reason are refused', async () => {
  const delivery = await dead();
  const other = stage.onefold.tenant('other');
  await expect(other.abandonDelivery(delivery, bob)).rejects.toMatchObject({ code: 'publication_unknown' });
  await expect(stage.onefold.tenant('').abandonDelivery(delivery, { ...bob, reason: ' ' })).rejects.toMatchObject({
    code: 'abandon_refused',
  });
  expect(await letters(delivery.publication)).toEqual([{ closed_by: null }]);
});
