import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEndpointsStage, type EndpointsStage, startReceiver } from './support/endpoints-stage.js';

let stage: EndpointsStage;
beforeAll(async () => {
  stage = await createEndpointsStage();
});
afterAll(() => stage?.close());

test('a test is one signed message with the headers of the endpoint, and leaves no publication', async () => {
  const receiver = await startReceiver(204);
  const api = stage.of('acme');
  const { endpoint, secret } = await api.create({
    url: receiver.url,
    types: ['order.paid'],
    headers: { Authorization: 'Bearer abc' },
  });
  const { eventId, durationMs, ...told } = await api.test(endpoint.id);
  expect(told).toEqual({ decision: 'delivered', status: 204 });
  expect(eventId).toMatch(/^test_[0-9a-f-]{36}$/);
  expect(durationMs).toBeGreaterThanOrEqual(0);
  expect(receiver.requests).toHaveLength(1);
  const [{ headers, body }] = receiver.requests as [(typeof receiver.requests)[number]];
  expect(headers).toMatchObject({
    authorization: 'Bearer abc',
    'content-type': 'application/json',
    'webhook-id': eventId,
  });
  expect(new Webhook(secret).verify(body.toString(), headers as Record<string, string>)).toEqual({
    type: 'endpoint.test',
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    data: { endpoint: endpoint.id },
  });
  for (const table of ['publications', 'publication_deliveries', 'publication_attempts']) {
    expect(await stage.sql(`SELECT FROM onefold.${table}`)).toEqual([]);
  }
  expect(await api.get(endpoint.id)).toEqual(endpoint);
  expect(stage.lines.at(-1)).toMatchObject({
    msg: 'endpoint.tested',
    endpoint: endpoint.id,
    decision: 'delivered',
    status: 204,
  });
  await receiver.close();
});

test.each([
  [503, 'retry', 'http_503'],
  [302, 'rejected', 'http_302'],
  [400, 'rejected', 'http_400'],
  [410, 'gone', 'endpoint_gone'],
] as const)('an answer of %i means %s, and changes nothing about the endpoint', async (status, decision, code) => {
  const receiver = await startReceiver(status, 'no, and why');
  const { endpoint } = await stage.of('').create({ url: receiver.url, types: ['*'] });
  expect(await stage.of('').test(endpoint.id)).toMatchObject({
    decision,
    status,
    code,
    message: expect.any(String),
    answer: 'no, and why',
  });
  expect(await stage.of('').get(endpoint.id)).toEqual(endpoint);
  expect(receiver.requests).toHaveLength(1);
  await receiver.close();
});

test('no answer is told by its code', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const { endpoint } = await stage.of('').create({ url: `http://127.0.0.1:${port}/`, types: ['*'] });
  expect(await stage.of('').test(endpoint.id)).toMatchObject({ decision: 'retry', code: 'connection_refused' });
});

test('the destination is judged again at every test', async () => {
  const { endpoint } = await stage.of('').create({ url: 'https://93.184.215.14/', types: ['*'] });
  await stage.sql("UPDATE onefold.endpoints SET url = 'https://169.254.169.254/' WHERE id = $1", [endpoint.id]);
  const told = await stage.of('').test(endpoint.id);
  expect(told).toMatchObject({ decision: 'rejected', code: 'destination_refused' });
});

test.each(['pause', 'disable'] as const)(
  'an endpoint can be tried after %s, before it is taken into service again',
  async (move) => {
    const receiver = await startReceiver(200);
    const { endpoint } = await stage.of('').create({ url: receiver.url, types: ['*'] });
    const held = await stage.of('')[move](endpoint.id);
    expect((await stage.of('').test(endpoint.id)).decision).toBe('delivered');
    expect(await stage.of('').get(endpoint.id)).toEqual(held);
    await receiver.close();
  },
);
