import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminBodyLimitBytes, createAdminApi } from '../../src/admin/create-admin-api.js';
import { OnefoldError } from '../../src/errors.js';
import { operationsContext } from '../../src/operations/context.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../publisher/support/scripted-receiver.js';
import { type AdminStage, actToken, createAdminStage } from './support/admin-stage.js';

let admin: AdminStage;
let receiver: ScriptedReceiver;
beforeAll(async () => {
  admin = await createAdminStage();
  receiver = await startScriptedReceiver();
});
afterAll(async () => {
  await receiver?.close();
  await admin?.close();
});

test('the life of a delivery: endpoint, publication, dead letter, replay, each under the tenant and the actor', async () => {
  const { ask, stage } = admin;
  const actor = { headers: { 'onefold-actor': 'alice' } };
  const settings = { url: receiver.url, types: ['order.*'], schedule: [], description: 'the shop' };
  const created = await ask('POST', '/v1/endpoints?tenant=acme', { body: settings, ...actor });
  expect(created).toMatchObject({
    status: 201,
    json: {
      endpoint: { tenant: 'acme', url: receiver.url, state: 'enabled' },
      secret: expect.stringMatching(/^whsec_/),
    },
  });
  const { id } = created.json.endpoint;
  expect((await ask('GET', '/v1/endpoints?tenant=acme')).json.items).toMatchObject([{ id, description: 'the shop' }]);
  expect((await ask('GET', '/v1/endpoints')).json).toEqual({ items: [] });
  expect(JSON.stringify((await ask('GET', `/v1/endpoints/${id}?tenant=acme`)).json)).not.toContain('whsec_');
  expect(await ask('GET', `/v1/endpoints/${id}`)).toMatchObject({ status: 404, json: { code: 'endpoint_unknown' } });

  receiver.answer(() => 404);
  const message = { publication: 'order:42/confirmed v1', type: 'order.confirmed', data: { order: 'ord_42' } };
  const published = await ask('POST', '/v1/publications?tenant=acme', { body: message });
  expect(published).toMatchObject({ status: 201, json: { path: 'published', deliveries: [{ endpoint: id }] } });
  expect(await ask('POST', '/v1/publications?tenant=acme', { body: message })).toMatchObject({
    status: 200,
    json: { path: 'already_published', eventId: published.json.eventId },
  });
  expect(
    await ask('POST', '/v1/publications?tenant=acme', { body: { ...message, data: { order: 'ord_43' } } }),
  ).toMatchObject({ status: 422, json: { code: 'publication_conflict' } });
  expect(await stage.end(id, message.publication, 'acme')).toEqual({ failed: 'http_404' });

  const name = encodeURIComponent(message.publication);
  const delivery = `/v1/deliveries/${id}/${name}`;
  expect((await ask('GET', `${delivery}?tenant=acme`)).json).toMatchObject({
    state: 'dead_lettered',
    publication: message.publication,
    attemptsMade: [{ ended: 'rejected', status: 404 }],
    deadLetter: { code: 'http_404' },
  });
  expect(await ask('GET', delivery)).toMatchObject({ status: 404, json: { code: 'publication_unknown' } });
  expect((await ask('GET', '/v1/dead-letters?tenant=acme')).json.items).toMatchObject([
    {
      kind: 'delivery',
      endpoint: id,
      publication: message.publication,
      deliveryKey: expect.stringMatching(/^publication\//),
      code: 'http_404',
    },
  ]);
  expect((await ask('GET', `/v1/publications/${name}?tenant=acme`)).json).toMatchObject({
    publication: message.publication,
    states: { dead_lettered: 1 },
  });

  receiver.answer(() => 200);
  const wish = { reason: 'mended', id: 'r1' };
  const dry = await ask('POST', `${delivery}/replay?tenant=acme`, { body: { ...wish, dryRun: true } });
  expect(dry).toMatchObject({ status: 200, json: { outcome: 'dry_run' } });
  const replayed = await ask('POST', `${delivery}/replay?tenant=acme`, { body: wish, ...actor });
  expect(replayed).toMatchObject({ status: 202, json: { outcome: 'started', id: 'r1' } });
  expect(await stage.end(id, message.publication, 'acme')).toMatchObject({ outcome: 'delivered' });
  expect((await ask('POST', `${delivery}/replay?tenant=acme`, { body: wish })).json).toEqual(replayed.json);
  expect(receiver.of(published.json.eventId)).toHaveLength(2);
  expect((await ask('GET', '/v1/dead-letters?tenant=acme')).json).toEqual({ items: [] });
  expect((await ask('GET', `${delivery}?tenant=acme`)).json.acts).toMatchObject([
    { id: 'r1', by: 'alice', reason: 'mended', outcome: 'started' },
  ]);
  expect(stage.lines).toContainEqual(expect.objectContaining({ msg: 'endpoint.created', by: 'alice' }));

  expect(await ask('POST', `${delivery}/abandon?tenant=acme`, { body: { reason: 'late' } })).toMatchObject({
    status: 409,
    json: { code: 'abandon_refused' },
  });
  const republished = await ask('POST', `/v1/publications/${name}/republish?tenant=acme`, {
    body: { as: 'order:42:again', reason: 'they lost it' },
  });
  expect(republished).toMatchObject({ status: 201, json: { from: message.publication, path: 'published' } });
  expect(await stage.end(id, 'order:42:again', 'acme')).toMatchObject({ outcome: 'delivered' });
  const recovered = await ask('POST', `/v1/endpoints/${id}/recover?tenant=acme`, {
    body: { since: '2026-01-01T00:00:00Z', reason: 'all of it', dryRun: true },
  });
  expect(recovered).toMatchObject({ status: 200, json: { found: 0, outcome: 'dry_run' } });
  const again = await ask('POST', `/v1/publications/${name}/replay?tenant=acme`, { body: { reason: 'r', all: true } });
  expect(again).toMatchObject({ status: 202, json: { deliveries: [{ endpoint: id, outcome: 'started' }] } });
  await stage.end(id, message.publication, 'acme');
});

test('an endpoint is changed, moved, given a secret, tested and removed', async () => {
  const { ask } = admin;
  receiver.answer(() => 200);
  const { json } = await ask('POST', '/v1/endpoints', { body: { url: receiver.url, types: ['none.*'] } });
  const path = `/v1/endpoints/${json.endpoint.id}`;
  expect((await ask('PATCH', path, { body: { concurrency: 3, description: 'new' } })).json.endpoint).toMatchObject({
    concurrency: 3,
    description: 'new',
    version: 2,
  });
  expect((await ask('POST', `${path}/pause`, { body: { reason: 'holidays' } })).json).toMatchObject({
    state: 'paused',
    stateReason: 'holidays',
  });
  expect(await ask('POST', `${path}/enable`)).toMatchObject({ status: 409, json: { code: 'endpoint_paused' } });
  expect((await ask('POST', `${path}/resume`)).json.state).toBe('enabled');
  expect((await ask('POST', `${path}/disable`)).json.state).toBe('disabled');
  expect(await ask('POST', `${path}/recover`, { body: { since: '2026-01-01T00:00:00Z', reason: 'r' } })).toMatchObject({
    status: 409,
    json: { code: 'replay_refused' },
  });
  expect((await ask('POST', `${path}/enable`)).json.state).toBe('enabled');
  const rotated = await ask('POST', `${path}/rotate-secret`, { body: { overlap: 0 } });
  expect(rotated.json.secret).toMatch(/^whsec_/);
  expect(rotated.json.secret).not.toBe(json.secret);
  expect((await ask('POST', `${path}/test`)).json).toMatchObject({ decision: 'delivered', status: 200 });
  expect((await ask('DELETE', `${path}?reason=gone`)).json).toMatchObject({ state: 'removed', stateReason: 'gone' });
  expect(await ask('POST', `${path}/pause`)).toMatchObject({ status: 409, json: { code: 'endpoint_removed' } });
});

test('moves of an endpoint are acts, and the same id moves it once', async () => {
  const { ask } = admin;
  const { json } = await ask('POST', '/v1/endpoints?tenant=moved', { body: { url: receiver.url, types: ['none.*'] } });
  const path = `/v1/endpoints/${json.endpoint.id}`;
  const holidays = { body: { reason: 'holidays', id: 'm1' }, headers: { 'onefold-actor': 'alice' } };
  expect((await ask('POST', `${path}/pause?tenant=moved`, holidays)).json.state).toBe('paused');
  expect((await ask('POST', `${path}/resume?tenant=moved`)).json.state).toBe('enabled');
  expect((await ask('POST', `${path}/pause?tenant=moved`, holidays)).json.state).toBe('enabled');
  const about = encodeURIComponent(`endpoint/moved/${json.endpoint.id}`);
  expect((await ask('GET', `/v1/acts?tenant=moved&about=${about}`)).json.items).toMatchObject([
    { kind: 'resume', by: 'admin-api', reason: '' },
    { kind: 'pause', by: 'alice', reason: 'holidays', id: 'm1', outcome: 'carried_out' },
  ]);
});

test('a dead-lettered delivery is given up, and its dead letter closed', async () => {
  const { ask, stage } = admin;
  receiver.answer(() => 404);
  const { id } = await stage.endpoint(receiver.url, { tenant: 'leaver' });
  const { publication } = await stage.publish(undefined, 'leaver');
  await stage.end(id, publication, 'leaver');
  const delivery = `/v1/deliveries/${id}/${encodeURIComponent(publication)}/abandon?tenant=leaver`;
  expect(await ask('POST', delivery, { body: { reason: 'they left', id: 'a1' } })).toMatchObject({
    status: 200,
    json: { id: 'a1', outcome: 'abandoned', state: 'dead_lettered' },
  });
  expect((await ask('GET', '/v1/dead-letters?tenant=leaver')).json).toEqual({ items: [] });
});

test('lists are pages with a cursor that a URL can carry', async () => {
  const { ask } = admin;
  for (const n of [1, 2, 3]) {
    await ask('POST', '/v1/publications?tenant=paged', {
      body: { publication: `note:${n}`, type: 'order.note', data: { n } },
    });
  }
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await ask('GET', `/v1/publications?tenant=paged&limit=2${cursor}`);
    seen.push(...json.items.map(({ publication }: { publication: string }) => publication));
    if (json.next === undefined) break;
    expect(json.next).toMatch(/^[A-Za-z0-9_-]+$/);
    cursor = `&cursor=${json.next}`;
  }
  expect(seen).toEqual(['note:3', 'note:2', 'note:1']);
});

test('numbers that a double cannot hold are published digit for digit', async () => {
  const body = '{"publication":"exact:1","type":"order.note","data":{"id":12345678901234567890,"part":1.5}}';
  expect(await admin.ask('POST', '/v1/publications?tenant=exact', { body })).toMatchObject({ status: 201 });
  const { json } = await admin.ask('GET', '/v1/publications/exact%3A1?tenant=exact');
  expect(json.body).toContain('"data":{"id":12345678901234567890,"part":1.5}');
});

test.each<[string, string, string, object, number, string]>([
  ['an unknown parameter', 'GET', '/v1/deliveries?endpiont=x', {}, 400, 'request_invalid'],
  ['a parameter given twice', 'GET', '/v1/deliveries?type=a&type=b', {}, 400, 'request_invalid'],
  ['a tenant given twice', 'GET', '/v1/deliveries?tenant=a&tenant=b', {}, 400, 'identity_invalid'],
  ['a limit that is none', 'GET', '/v1/deliveries?limit=many', {}, 400, 'request_invalid'],
  ['a limit beyond the bound', 'GET', '/v1/deliveries?limit=201', {}, 400, 'request_invalid'],
  ['a cursor that is none', 'GET', '/v1/publications?cursor=zzz', {}, 400, 'request_invalid'],
  ['a state that is none', 'GET', '/v1/deliveries?state=lost', {}, 400, 'request_invalid'],
  ['a time without its offset', 'GET', '/v1/deliveries?since=2026-02-03T04:05:06', {}, 400, 'request_invalid'],
  ['a path that is no UTF-8', 'GET', '/v1/publications/%ff', {}, 400, 'request_invalid'],
  ['a missing field', 'POST', '/v1/publications', { body: { publication: 'p', type: 't' } }, 400, 'request_invalid'],
  ['an unknown field', 'POST', '/v1/endpoints', { body: { url: 'u', types: ['*'], urls: 1 } }, 400, 'request_invalid'],
  ['a body that is a list', 'POST', '/v1/publications', { body: [] }, 400, 'body_malformed'],
  ['a body that is not JSON', 'POST', '/v1/publications', { body: '{' }, 400, 'body_malformed'],
  ['a body that says a key twice', 'POST', '/v1/publications', { body: '{"a":1,"a":2}' }, 400, 'body_malformed'],
  ['a body too deep', 'POST', '/v1/publications', { body: '['.repeat(300) + ']'.repeat(300) }, 400, 'body_too_deep'],
  [
    'a body of another type',
    'POST',
    '/v1/publications',
    { body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'body_unreadable',
  ],
  [
    'a compressed body',
    'POST',
    '/v1/publications',
    { body: '{}', headers: { 'content-encoding': 'gzip' } },
    415,
    'body_unreadable',
  ],
  [
    'a private address',
    'POST',
    '/v1/endpoints',
    { body: { url: 'https://10.0.0.1/', types: ['*'] } },
    400,
    'destination_refused',
  ],
  [
    'a type that nobody declared',
    'POST',
    '/v1/publications',
    { body: { publication: 'p', type: 'a.b', data: 1 } },
    400,
    'publication_type_unknown',
  ],
  ['a method that the path does not take', 'PUT', '/v1/endpoints', {}, 405, 'method_not_allowed'],
])('%s is refused by its code', async (_what, method, path, options, status, code) => {
  const answered = await admin.ask(method, path, options);
  expect({ status: answered.status, code: answered.json.code }).toEqual({ status, code });
  expect(answered.headers.get('content-type')).toContain('application/problem+json');
  expect(answered.json).toMatchObject({ type: 'about:blank', status, title: expect.any(String) });
});

test('405 names the methods', async () => {
  const { headers } = await admin.ask('PUT', '/v1/endpoints');
  expect(headers.get('allow')).toBe('GET, POST');
});

test('every answer forbids caching and sniffing, and says nothing of what serves it', async () => {
  for (const path of ['/v1/endpoints', '/nothing']) {
    const { headers } = await admin.ask('GET', path);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});

/** Streams a body of so many bytes; resolves with the answer, which may come before all of it is sent. */
function stream(bytes: number): Promise<{ status: number | undefined; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(admin.url);
    const headers = { authorization: `Bearer ${actToken}`, 'content-type': 'application/json' };
    const sending = request({ port, method: 'POST', path: '/v1/publications', headers }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode, connection: response.headers.connection }));
    });
    sending.on('error', reject);
    sending.write(Buffer.alloc(bytes, ' '));
    sending.end();
  });
}

test('a body of the limit is read, and one byte more is 413', async () => {
  const padded = (bytes: number) => `${' '.repeat(bytes - 2)}{}`;
  const under = await admin.ask('POST', '/v1/publications', { body: padded(adminBodyLimitBytes) });
  expect(under.json.code).toBe('request_invalid');
  expect(await stream(adminBodyLimitBytes + 1)).toMatchObject({ status: 413 });
});

/** Publishes through an API whose application throws this. */
async function publishing(thrown: Error) {
  const app = createAdminApi(
    { context: admin.stage.onefold[operationsContext], publish: () => Promise.reject(thrown) },
    { act: actToken },
  );
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/publications`, {
    method: 'POST',
    headers: { authorization: `Bearer ${actToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ publication: 'p', type: 'order.note', data: 1 }),
  });
  const json = (await response.json()) as Record<string, unknown>;
  server.close();
  return { status: response.status, json, retryAfter: response.headers.get('retry-after') };
}

test('a defect is 500, told to the log by its place, and what it says to nobody', async () => {
  const { status, json } = await publishing(new Error('the card number is 4242'));
  expect({ status, code: json.code }).toEqual({ status: 500, code: 'internal_error' });
  const [line] = admin.stage.lines.filter(({ msg }) => msg === 'admin.internal_error');
  expect(line).toMatchObject({ level: 'error', name: 'Error', stack: expect.stringContaining('at ') });
  expect(JSON.stringify([json, line])).not.toContain('4242');
});

test('PostgreSQL away is 503, says when to come again, and names no host', async () => {
  const away = new OnefoldError(
    'ledger_unavailable',
    'PostgreSQL cannot be reached: connect ECONNREFUSED 10.1.2.3:5432',
  );
  const { status, json, retryAfter } = await publishing(away);
  expect({ status, code: json.code, retryAfter }).toEqual({ status: 503, code: 'ledger_unavailable', retryAfter: '5' });
  expect(JSON.stringify(json)).not.toContain('10.1.2.3');
});
