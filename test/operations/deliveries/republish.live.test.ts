import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { operationsContext } from '../../../src/operations/context.js';
import { replayDelivery } from '../../../src/operations/deliveries/replay-delivery.js';
import { republish } from '../../../src/operations/deliveries/republish.js';
import { showPublication } from '../../../src/operations/deliveries/show-publication.js';
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
const bob = { by: 'bob', reason: 'they lost their database' };

test('a message is published anew with another webhook-id and timestamp, the same data, and a note of where it is from', async () => {
  const { id } = await stage.endpoint(receiver.url);
  const { publication, eventId } = await stage.publish();
  await stage.end(id, publication);
  const again = await republish(context(), { publication }, { ...bob, as: `${publication}:again` });
  expect(again).toMatchObject({ from: publication, path: 'published', deliveries: [{ endpoint: id }] });
  expect(again.eventId).not.toBe(eventId);
  await stage.end(id, again.publication);
  const [first, second] = receiver.requests.map(({ body }) => JSON.parse(body));
  expect(second).toMatchObject({ type: first.type, data: first.data });
  expect(Date.parse(second.timestamp)).toBeGreaterThan(Date.parse(first.timestamp));
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([eventId, again.eventId]);
  expect(await showPublication(context(), { publication: again.publication })).toMatchObject({
    cause: { republished: publication, by: 'bob', act: again.id },
    states: { delivered: 1 },
  });
  expect((await showPublication(context(), { publication })).acts).toMatchObject([
    { kind: 'republish', by: 'bob', reason: bob.reason, outcome: 'published' },
  ]);
});

test('republishing under the same identity is harmless, and under one with other content a conflict', async () => {
  const { id } = await stage.endpoint(receiver.url);
  const { publication } = await stage.publish();
  const as = `${publication}:again`;
  const first = await republish(context(), { publication }, { ...bob, as });
  const second = await republish(context(), { publication }, { ...bob, as });
  expect([first.path, second.path]).toEqual(['published', 'already_published']);
  expect(second.eventId).toBe(first.eventId);
  await stage.end(id, as);
  expect(receiver.of(first.eventId)).toHaveLength(1);

  await stage.onefold.publish({
    publication: `${publication}:other`,
    type: 'order.confirmed',
    data: { order: 'else' },
  });
  await expect(republish(context(), { publication: `${publication}:other` }, { ...bob, as })).rejects.toMatchObject({
    code: 'publication_conflict',
  });
});

test('to one endpoint alone, the others get nothing; to one that does not subscribe, nothing is published', async () => {
  const chosen = await stage.endpoint(receiver.url);
  await stage.endpoint(receiver.url);
  const deaf = await stage.endpoint(receiver.url, { types: ['invoice.*'] });
  const { publication } = await stage.publish();
  const as = `${publication}:one`;
  const one = await republish(context(), { publication }, { ...bob, as, endpoint: chosen.id });
  expect(one.deliveries).toEqual([{ endpoint: chosen.id, state: 'queued' }]);
  await stage.end(chosen.id, as);
  const rows = await stage.sql('SELECT endpoint FROM onefold.publication_deliveries WHERE publication = $1', [as]);
  expect(rows).toEqual([{ endpoint: chosen.id }]);

  for (const endpoint of [deaf.id, 'ep_nobody']) {
    await expect(
      republish(context(), { publication }, { ...bob, as: `${publication}:none`, endpoint }),
    ).rejects.toMatchObject({ code: 'publication_invalid' });
  }
  expect(await stage.sql('SELECT 1 FROM onefold.publications WHERE publication = $1', [`${publication}:none`])).toEqual(
    [],
  );
});

test('an act id is that of one wish: under another identity, another endpoint or another kind of act it is refused', async () => {
  const { id: endpoint } = await stage.endpoint(receiver.url);
  const { publication } = await stage.publish();
  await stage.end(endpoint, publication);
  const as = `${publication}:again`;
  const wish = { ...bob, id: `act-${publication}` };
  expect(await republish(context(), { publication }, { ...wish, as })).toMatchObject({ path: 'published' });
  expect(await republish(context(), { publication }, { ...wish, as })).toMatchObject({ path: 'already_published' });
  const replayed = await replayDelivery(context(), { publication, endpoint }, bob);
  for (const other of [
    { ...wish, as: `${publication}:other` },
    { ...wish, as, endpoint },
    { ...bob, id: replayed.id, as: `${publication}:other` },
  ]) {
    await expect(republish(context(), { publication }, other)).rejects.toMatchObject({
      code: 'replay_refused',
      message: expect.stringContaining(other.id),
    });
  }
  expect(
    await stage.sql('SELECT 1 FROM onefold.publications WHERE publication = $1', [`${publication}:other`]),
  ).toEqual([]);
  await stage.end(endpoint, publication);
});

test('a new identity that went to other endpoints already is a conflict that names them', async () => {
  const one = await stage.endpoint(receiver.url);
  const other = await stage.endpoint(receiver.url);
  const { publication } = await stage.publish();
  const as = `${publication}:one`;
  const wish = { ...bob, as };
  await republish(context(), { publication }, { ...wish, endpoint: one.id });
  await expect(republish(context(), { publication }, { ...wish, endpoint: other.id })).rejects.toMatchObject({
    code: 'publication_conflict',
    message: expect.stringMatching(new RegExp(`${as}.*already, to ${one.id};`)),
  });
  await stage.end(one.id, as);
});

test('numbers keep their digits', async () => {
  const publication = 'exact:v1';
  await stage.onefold.publish({ publication, type: 'order.note', data: { id: 12345678901234567890n } });
  await republish(context(), { publication }, { ...bob, as: 'exact:v2' });
  const { body } = await showPublication(context(), { publication: 'exact:v2' });
  expect(body).toContain('"data":{"id":12345678901234567890}');
});

test('a publication that the tenant does not have is unknown, and its own identity is no new one', async () => {
  const { publication } = await stage.publish(undefined, 'acme');
  await expect(republish(context(), { publication }, { ...bob, as: 'x' })).rejects.toMatchObject({
    code: 'publication_unknown',
  });
  await expect(
    republish(context(), { publication, tenant: 'acme' }, { ...bob, as: publication }),
  ).rejects.toMatchObject({ code: 'publication_invalid' });
});
