import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { egressRules } from '../../src/runtime/egress-rules.js';
import { until } from '../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from './support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from './support/scripted-receiver.js';

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

test('a publication is delivered, signed, and its end written back', async () => {
  const { id, secret } = await stage.endpoint(receiver.url, { headers: { 'x-shop': 'one' } });
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 1, status: 200, eventId });
  const [request] = receiver.of(eventId);
  expect(receiver.requests).toHaveLength(1);
  expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'x-shop': 'one' });
  const headers = request?.headers as Record<string, string>;
  expect(new Webhook(secret).verify(request?.body ?? '', headers)).toEqual(JSON.parse(request?.body ?? ''));
  expect(new SvixWebhook(secret).verify(request?.body ?? '', headers)).toMatchObject({ type: 'order.confirmed' });
  expect(await stage.row(id, publication)).toMatchObject({ state: 'delivered', attempts: 1, last_status: 200 });
  const attempts = await stage.sql('SELECT * FROM onefold.publication_attempts WHERE publication = $1', [publication]);
  expect(attempts).toMatchObject([{ ended: 'delivered', status: 200, response_text: 'status 200', attempt: 1 }]);
});

test('every attempt has the same webhook-id and bytes, and a signature of its own time', async () => {
  const { id, secret } = await stage.endpoint(receiver.url, { schedule: [1100, 1100] });
  receiver.answer((_request, nth) => (nth < 3 ? 503 : 200));
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 3 });
  const requests = receiver.of(eventId);
  expect(requests).toHaveLength(3);
  expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
  const stamps = requests.map(({ headers }) => Number(headers['webhook-timestamp']));
  expect(stamps[1]).toBeGreaterThan(stamps[0] ?? 0);
  expect(stamps[2]).toBeGreaterThan(stamps[1] ?? 0);
  for (const { body, headers } of requests) new Webhook(secret).verify(body, headers as Record<string, string>);
});

test('each endpoint has its own delivery under one webhook-id; one that fails does not touch the other', async () => {
  const other = await startScriptedReceiver();
  other.answer(() => 404);
  const good = await stage.endpoint(receiver.url);
  const bad = await stage.endpoint(other.url);
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(good.id, publication)).toMatchObject({ outcome: 'delivered' });
  expect(await stage.end(bad.id, publication)).toEqual({ failed: 'http_404' });
  expect(receiver.of(eventId)).toHaveLength(1);
  expect(other.of(eventId)).toHaveLength(1);
  expect(await stage.row(bad.id, publication)).toMatchObject({ state: 'dead_lettered', last_code: 'http_404' });
  const letters = await stage.sql(`SELECT * FROM onefold.dead_letters WHERE kind = 'delivery' AND event_id = $1`, [
    publication,
  ]);
  expect(letters).toMatchObject([{ code: 'http_404', source: bad.id, closed_at: null }]);
  await other.close();
});

test('a redirect is a rejection that names where it would have led, and nobody goes there', async () => {
  const target = await startScriptedReceiver();
  const { id } = await stage.endpoint(receiver.url);
  receiver.answer(() => (response) => response.writeHead(302, { location: target.url }).end());
  const { publication } = await stage.publish();
  expect(await stage.end(id, publication)).toEqual({ failed: 'http_302' });
  expect(target.requests).toHaveLength(0);
  const [letter] = await stage.sql('SELECT message FROM onefold.dead_letters WHERE event_id = $1', [publication]);
  expect(letter?.message).toContain('HTTP 302');
  expect(letter?.message).toContain(target.url);
  await target.close();
});

test('what the operator allows, a tenant is not sent to', async () => {
  const strict = await createDeliveryStage({ worker: false });
  try {
    const own = await strict.endpoint(receiver.url);
    const theirs = await strict.endpoint(receiver.url, { tenant: 'acme' });
    await strict.worker({}, { egressRules: egressRules(['127.0.0.1'], 'test') });
    const [forOwn, forTheirs] = [await strict.publish(), await strict.publish(undefined, 'acme')];
    expect(await strict.end(own.id, forOwn.publication)).toMatchObject({ outcome: 'delivered' });
    expect(await strict.end(theirs.id, forTheirs.publication, 'acme')).toEqual({ failed: 'destination_refused' });
    expect(receiver.requests).toHaveLength(1);
  } finally {
    await strict.close();
  }
});

test('410 rejects it and disables the endpoint; what is published then is held, and goes when it is enabled', async () => {
  const { id } = await stage.endpoint(receiver.url);
  receiver.answer(() => 410);
  const first = await stage.publish();
  expect(await stage.end(id, first.publication)).toEqual({ failed: 'endpoint_gone' });
  expect(await stage.onefold.endpoints.get(id)).toMatchObject({ state: 'disabled', stateCode: 'endpoint_gone' });
  receiver.answer(() => 200);
  const second = await stage.publish();
  await until('it is held', () =>
    stage
      .handle(id, second.publication)
      .query<{ phase: string }>('status')
      .then(
        ({ phase }) => phase === 'held',
        () => false,
      ),
  );
  expect(receiver.of(second.eventId)).toHaveLength(0);
  await stage.onefold.endpoints.enable(id);
  // The relay tells what waits, long before its own look.
  expect(await stage.end(id, second.publication)).toMatchObject({ outcome: 'delivered', attempts: 1 });
});

test('an endpoint that is removed ends what waits for it, by name', async () => {
  const { id } = await stage.endpoint(receiver.url, { schedule: ['1 hour'] });
  receiver.answer(() => 503);
  const { publication } = await stage.publish();
  await until('it pauses', async () => (await stage.row(id, publication)).last_code === 'http_503');
  await stage.onefold.endpoints.remove(id);
  expect(await stage.end(id, publication)).toEqual({ failed: 'endpoint_removed' });
});

test('retryNow ends the pause, and makes no second attempt beside a running one', async () => {
  const { id } = await stage.endpoint(receiver.url, { schedule: ['1 hour', '1 hour'] });
  receiver.answer((_request, nth) => (nth === 1 ? 503 : 200));
  const { publication, eventId } = await stage.publish();
  await until('it pauses', async () => (await stage.row(id, publication)).last_code === 'http_503');
  const handle = stage.handle(id, publication);
  await Promise.all([1, 2, 3].map(() => handle.signal('retryNow')));
  expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 2 });
  expect(receiver.of(eventId)).toHaveLength(2);
});

test('a cancelled delivery gets its dead letter', async () => {
  const { id } = await stage.endpoint(receiver.url, { schedule: ['1 hour'] });
  receiver.answer(() => 503);
  const { publication } = await stage.publish();
  await until('it pauses', async () => (await stage.row(id, publication)).last_code === 'http_503');
  await stage.handle(id, publication).cancel();
  expect(await stage.end(id, publication)).toEqual({ failed: 'CancelledFailure' });
  expect(await stage.row(id, publication)).toMatchObject({ state: 'dead_lettered', last_code: 'cancelled' });
});

test('abandon stops the attempt under way, is recorded, and completes the delivery', async () => {
  const { id } = await stage.endpoint(receiver.url, { schedule: ['1 hour'] });
  receiver.answer(() => 503);
  const { publication } = await stage.publish();
  await until('it pauses', async () => (await stage.row(id, publication)).last_code === 'http_503');
  const answer = await stage
    .handle(id, publication)
    .executeUpdate('abandon', { args: [{ by: 'ann', reason: 'no longer needed' }] });
  expect(answer).toEqual({ abandoned: true });
  expect(await stage.end(id, publication)).toMatchObject({ outcome: 'abandoned', abandoned: { by: 'ann' } });
  expect(await stage.row(id, publication)).toMatchObject({ state: 'abandoned' });
});
