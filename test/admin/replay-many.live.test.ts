import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PermanentError } from '../../src/effects/errors.js';
import { shipmentsTable, shop } from '../hazards/support/shop.js';
import { createStage, type Deployed, type Stage } from '../operations/support/stage.js';
import { readToken, type ServedApi, serveApi } from './support/admin-stage.js';

/** Orders that no shelf has. */
const refused = new Set<string>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    if (refused.has(event.data.order)) throw new PermanentError(`no shelf for ${event.data.order}`);
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
afterAll(async () => {
  await api?.close();
  await stage?.close();
});

const actor = { 'onefold-actor': 'alice' };
const keyOf = (id: string) => `event//shop/${encodeURIComponent(id)}`;
const start = (body: object, query = '') => api.ask('POST', `/v1/replays${query}`, { body, headers: actor });
const preview = (query: string) => api.ask('GET', `/v1/replays/preview?${query}`);
const sets = async () => (await stage.sql('SELECT 1 FROM onefold.acts WHERE kind = $1', ['replay_many'])).length;

async function ended(id: string): Promise<void> {
  await stage.client.workflow
    .getHandle(keyOf(id))
    .result()
    .catch(() => {});
}

/** Some dead-lettered events whose shelf is there by now, and a moment before them. */
async function mended(many: number): Promise<{ readonly ids: readonly string[]; readonly since: string }> {
  const since = new Date().toISOString();
  const ids = Array.from({ length: many }, () => randomUUID());
  for (const id of ids) {
    refused.add(id);
    await app.deliver(id);
    await ended(id);
  }
  for (const id of ids) refused.delete(id);
  return { ids, since };
}

test('a set is looked at, replayed once, and answered again under its id', async () => {
  const { ids, since } = await mended(3);
  const before = await sets();
  const query = `source=shop&since=${encodeURIComponent(since)}`;
  const looked = await api.ask('GET', `/v1/replays/preview?${query}&decisions=2`, { token: readToken });
  expect(looked).toMatchObject({
    status: 200,
    json: { outcome: 'dry_run', size: 3, first: ids.map((id) => `shop/${id}`) },
  });
  expect(looked.json.decisions).toMatchObject([
    { event: `shop/${ids[0]}`, steps: [{ effect: 'ship-order' }] },
    { event: `shop/${ids[1]}` },
  ]);
  expect((await preview(query)).json.decisions).toEqual([]);
  expect(await sets()).toBe(before);

  const wish = { source: 'shop', since, reason: 'there are shelves', id: randomUUID(), rate: 500 };
  const replayed = await start(wish);
  expect(replayed).toMatchObject({
    status: 200,
    json: { id: wish.id, outcome: 'ended', size: 3, counts: { started: 3, open: 0, refused: 0 } },
  });
  for (const id of ids) {
    await ended(id);
    expect(await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).toHaveLength(1);
  }
  for (const again of [wish, { reason: 'again', id: wish.id }]) {
    expect((await start(again)).json).toMatchObject({ id: wish.id, outcome: 'ended', counts: { started: 3 } });
  }
  for (const id of ids) expect(await stage.runsOf(keyOf(id))).toHaveLength(2);
  expect((await api.ask('GET', '/v1/acts?about=events&by=alice')).json.items).toMatchObject([
    { kind: 'replay_many', id: wish.id, reason: 'there are shelves', outcome: 'ended' },
  ]);
  expect((await start({ source: 'shop', since, reason: 'r' })).json).toMatchObject({ outcome: 'nothing_found' });
});

test('a set that was broken off goes on under its id alone', async () => {
  const { ids, since } = await mended(2);
  const id = randomUUID();
  const stopping = new AbortController();
  stopping.abort();
  const stopped = await app.onefold.replayMany(
    { source: 'shop', since: new Date(since) },
    { by: 'bob', reason: 'r', id, signal: stopping.signal },
  );
  expect(stopped).toMatchObject({ outcome: 'stopped', counts: { open: 2 } });
  expect((await start({ id, reason: 'go on' })).json).toMatchObject({ id, outcome: 'ended', counts: { started: 2 } });
  for (const one of ids) await ended(one);
  for (const one of ids) expect(await stage.runsOf(keyOf(one))).toHaveLength(2);
});

test('neither a tenant nor an id that is unknown begins a replay of all that the tenant has', async () => {
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  await stage.sql(
    `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, state, remaining, received_at)
     VALUES ($1, 'event/' || $1 || '/shop/e1', 'shop', 'e1', 'order.paid', 'd', '{}', 'dead_lettered', 1, now())`,
    [tenant],
  );
  const before = await sets();
  expect((await preview(`tenant=${tenant}&state=dead_lettered`)).json.size).toBe(1);
  expect(await preview(`tenant=${tenant}`)).toMatchObject({ status: 400, json: { code: 'filter_missing' } });
  expect(await start({ reason: 'r' }, `?tenant=${tenant}`)).toMatchObject({
    status: 400,
    json: { code: 'filter_missing' },
  });
  expect(await start({ reason: 'r', id: randomUUID() }, `?tenant=${tenant}`)).toMatchObject({
    status: 404,
    json: { code: 'replay_set_unknown' },
  });
  expect(await sets()).toBe(before);
});

test('of another tenant nothing is taken in, and no set is carried on', async () => {
  const { ids, since } = await mended(1);
  const filter = { source: 'shop', since };
  const query = `source=shop&since=${encodeURIComponent(since)}`;
  expect((await preview(`${query}&tenant=acme`)).json).toMatchObject({ size: 0, first: [] });
  expect((await start({ ...filter, reason: 'r' }, '?tenant=acme')).json).toEqual({
    tenant: 'acme',
    outcome: 'nothing_found',
  });
  const id = randomUUID();
  const replayed = await start({ ...filter, reason: 'r', id });
  expect(replayed.json).toMatchObject({ outcome: 'ended', size: 1 });
  expect(await start({ id, reason: 'r' }, '?tenant=acme')).toMatchObject({
    status: 404,
    json: { code: 'replay_set_unknown' },
  });
  await ended(ids[0] ?? '');
});

test('with the token that may read nothing is replayed', async () => {
  const before = await sets();
  const asked = { token: readToken, body: { source: 'shop', reason: 'r' } };
  expect(await api.ask('POST', '/v1/replays', asked)).toMatchObject({ status: 403, json: { code: 'admin_forbidden' } });
  expect(await sets()).toBe(before);
});

test.each<[string, object, number, string]>([
  ['no reason', { source: 'shop' }, 400, 'request_invalid'],
  ['a blank reason', { source: 'shop', reason: ' ' }, 409, 'replay_refused'],
  ['a state that is none', { state: 'lost', reason: 'r' }, 400, 'request_invalid'],
  ['a rate that is text', { source: 'shop', reason: 'r', rate: '5' }, 400, 'request_invalid'],
  ['a rate that is too high', { source: 'shop', reason: 'r', rate: 1001 }, 400, 'request_invalid'],
  ['an effect without a filter', { reason: 'r', id: 'i', effect: 'ship-order' }, 400, 'filter_missing'],
  ['an effect that there is not', { source: 'shop', reason: 'r', effect: 'fly' }, 409, 'effect_unknown'],
  ['a field that it has not', { source: 'shop', reason: 'r', decisions: 1 }, 400, 'request_invalid'],
])('%s is refused by its code, and nothing is begun', async (_what, body, status, code) => {
  const before = await sets();
  const answered = await start(body);
  expect({ status: answered.status, code: answered.json.code }).toEqual({ status, code });
  expect(await sets()).toBe(before);
});

test.each([
  ['more decisions than a caller waits for', 'source=shop&decisions=201', 'request_invalid'],
  ['no filter', '', 'filter_missing'],
])('a look with %s is refused', async (_what, query, code) => {
  expect(await preview(query)).toMatchObject({ status: 400, json: { code } });
});
