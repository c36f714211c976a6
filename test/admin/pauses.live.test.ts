import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { shipmentsTable, shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from '../operations/support/stage.js';
import { readToken, type ServedApi, serveApi } from './support/admin-stage.js';

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let stage: Stage;
let app: Deployed;
let api: ServedApi;

beforeAll(async () => {
  stage = await createStage({ setup: shipmentsTable });
  app = stage.deploy([shipOrder]);
  await app.startWorker();
  api = await serveApi(app.onefold);
});
afterEach(async () => {
  await stage.sql('DELETE FROM onefold.pauses');
});
afterAll(async () => {
  await api?.close();
  await stage?.close();
});

const actor = { 'onefold-actor': 'alice' };
const keyOf = (id: string) => `event//shop/${encodeURIComponent(id)}`;
const shipments = (id: string) => stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id]);
const pauses = () => stage.sql('SELECT kind, name, every_tenant, tenant FROM onefold.pauses ORDER BY at, tenant');
const post = (path: string, body: object, headers = {}) => api.ask('POST', path, { body, headers });
const items = async (query = '') => (await api.ask('GET', `/v1/pauses${query}`)).json.items;

async function held(): Promise<string> {
  const id = randomUUID();
  await app.deliver(id);
  await until('it waits', async () => {
    const { json } = await api.ask('GET', `/v1/events/shop/${id}`);
    return JSON.stringify(json.status ?? {}).includes('effect_paused') || undefined;
  });
  return id;
}

test.each([
  ['effect', 'ship-order', '/v1/effects/ship-order'],
  ['source', 'shop', '/v1/sources/shop'],
])('what a paused %s holds is listed, and goes on once it is resumed', async (kind, name, path) => {
  const wish = { reason: 'the warehouse moves', id: randomUUID() };
  expect((await post(`${path}/pause`, { ...wish, dryRun: true })).json).toMatchObject({ outcome: 'dry_run' });
  expect(await pauses()).toEqual([]);
  expect(await post(`${path}/pause`, wish, actor)).toMatchObject({
    status: 200,
    json: { kind, name, tenant: '', outcome: 'paused', id: wish.id },
  });
  expect((await post(`${path}/pause`, wish)).json).toMatchObject({ outcome: 'paused', id: wish.id });
  const id = await held();
  expect(await shipments(id)).toHaveLength(0);
  expect(await items()).toMatchObject([
    { kind, name, tenant: '', by: 'alice', reason: 'the warehouse moves', id: wish.id, waiting: 1 },
  ]);
  const resumed = await post(`${path}/resume`, { reason: 'it has moved' }, actor);
  expect(resumed).toMatchObject({ status: 200, json: { outcome: 'resumed', told: 1, stillPaused: [] } });
  await stage.client.workflow.getHandle(keyOf(id)).result();
  expect(await shipments(id)).toHaveLength(1);
  expect(await items()).toEqual([]);
  const acts = (await api.ask('GET', `/v1/acts?about=${encodeURIComponent(`${kind}/${name}`)}&by=alice`)).json.items;
  expect(acts).toMatchObject([
    { kind: 'resume', reason: 'it has moved' },
    { kind: 'pause', id: wish.id },
  ]);
  // The same wish as before, which somebody has taken back since, does not pause again.
  expect((await post(`${path}/pause`, wish)).json).toMatchObject({ outcome: 'superseded' });
  expect(await pauses()).toEqual([]);
});

test('a pause is of the tenant that is named, and of all only where that is said', async () => {
  const path = '/v1/effects/ship-order/pause';
  expect((await post(`${path}?tenant=acme`, { reason: 'r' })).json).toMatchObject({
    tenant: 'acme',
    outcome: 'paused',
  });
  const id = randomUUID();
  await app.deliver(id);
  await stage.client.workflow.getHandle(keyOf(id)).result();
  expect(await shipments(id)).toHaveLength(1);
  await post(path, { reason: 'r' });
  const all = await post(path, { reason: 'r', everyTenant: true });
  expect(all.json).toMatchObject({ outcome: 'paused' });
  expect(all.json).not.toHaveProperty('tenant');
  expect(await pauses()).toMatchObject([
    { every_tenant: false, tenant: 'acme' },
    { every_tenant: false, tenant: '' },
    { every_tenant: true },
  ]);
  expect(await post(`${path}?tenant=acme`, { reason: 'r', everyTenant: true })).toMatchObject({
    status: 400,
    json: { code: 'request_invalid' },
  });
  // Resuming for one tenant leaves what the others have.
  const resumed = await post('/v1/effects/ship-order/resume?tenant=acme', { reason: 'r' });
  expect(resumed.json).toMatchObject({ tenant: 'acme', outcome: 'resumed', stillPaused: [{ kind: 'effect' }] });
  expect(await pauses()).toMatchObject([{ tenant: '' }, { every_tenant: true }]);
});

test('a tenant sees its own pauses and those of all, and of these no number that counts others', async () => {
  for (const tenant of ['acme', 'other'])
    await post(`/v1/effects/ship-order/pause?tenant=${tenant}`, { reason: tenant });
  await post('/v1/sources/shop/pause', { reason: 'all', everyTenant: true });
  const id = await held();
  const seen = await items('?tenant=acme');
  expect(seen.map(({ reason }: { reason: string }) => reason)).toEqual(['acme', 'all']);
  expect(seen[0]).toMatchObject({ tenant: 'acme', waiting: 0 });
  expect(seen[1]).not.toHaveProperty('waiting');
  expect(await items('?everyTenant=true')).toMatchObject([
    { reason: 'acme', waiting: 0 },
    { reason: 'other' },
    { reason: 'all', waiting: 1 },
  ]);
  await post('/v1/sources/shop/resume', { reason: 'r', everyTenant: true });
  await stage.client.workflow.getHandle(keyOf(id)).result();
});

test('with the token that may read pauses are listed, and nothing is paused', async () => {
  expect((await api.ask('GET', '/v1/pauses', { token: readToken })).status).toBe(200);
  const asked = { token: readToken, body: { reason: 'r', everyTenant: true } };
  for (const path of ['/v1/effects/ship-order/pause', '/v1/sources/shop/resume']) {
    expect(await api.ask('POST', path, asked)).toMatchObject({ status: 403, json: { code: 'admin_forbidden' } });
  }
  expect(await pauses()).toEqual([]);
});

test.each<[string, string, object, number, string]>([
  ['an effect that there is not', '/v1/effects/fly/pause', { reason: 'r' }, 409, 'pause_refused'],
  ['a source that there is not', '/v1/sources/nowhere/resume', { reason: 'r' }, 409, 'pause_refused'],
  ['a pause without a reason', '/v1/effects/ship-order/pause', {}, 400, 'request_invalid'],
  ['a pause with a blank reason', '/v1/effects/ship-order/pause', { reason: ' ' }, 409, 'pause_refused'],
  [
    'a word for every tenant',
    '/v1/effects/ship-order/pause',
    { reason: 'r', everyTenant: 'yes' },
    400,
    'request_invalid',
  ],
])('%s is refused by its code', async (_what, path, body, status, code) => {
  const answered = await post(path, body);
  expect({ status: answered.status, code: answered.json.code }).toEqual({ status, code });
  expect(await pauses()).toEqual([]);
});
