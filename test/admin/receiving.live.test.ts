import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PermanentError } from '../../src/effects/errors.js';
import { shipmentsTable, shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from '../operations/support/stage.js';
import { type ServedApi, serveApi } from './support/admin-stage.js';

/** Orders that no shelf has, and orders whose shelf is locked for now. */
const refused = new Set<string>();
const locked = new Set<string>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { initialInterval: '1 hour', maximumInterval: '1 hour', maximumElapsed: '1 day' },
  commit: async ({ event, tx }) => {
    if (refused.has(event.data.order)) throw new PermanentError(`no shelf for ${event.data.order}`);
    if (locked.has(event.data.order)) throw new Error('the shelf is locked');
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
const pathOf = (id: string) => `/v1/events/shop/${encodeURIComponent(id)}`;
const keyOf = (id: string) => `event//shop/${encodeURIComponent(id)}`;

async function delivered(id: string = randomUUID()): Promise<string> {
  await app.deliver(id);
  await ended(id);
  return id;
}

async function ended(id: string): Promise<void> {
  await stage.client.workflow
    .getHandle(keyOf(id))
    .result()
    .catch(() => {});
}

async function deadLettered(): Promise<string> {
  const id = randomUUID();
  refused.add(id);
  return delivered(id);
}

/** An event that waits an hour for its second attempt. */
async function waiting(): Promise<string> {
  const id = randomUUID();
  locked.add(id);
  await app.deliver(id);
  await until('the pause', async () => {
    const { json } = await api.ask('GET', pathOf(id));
    return json.status?.effects[0]?.nextTryAt === undefined ? undefined : true;
  });
  return id;
}

async function letterOf(id: string): Promise<{ readonly id: string }> {
  const { json } = await api.ask('GET', `/v1/dead-letters?businessKey=shipment%3A${id}`);
  expect(json.items).toHaveLength(1);
  return json.items[0];
}

const shipments = (id: string) => stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id]);

test('the life of a dead-lettered event: listed, shown, noted, replayed once, each under the actor', async () => {
  const { ask } = api;
  const id = await deadLettered();
  const listed = await ask('GET', '/v1/events?source=shop&state=dead_lettered&code=permanent_error&limit=200');
  expect(listed.json.items).toContainEqual(expect.objectContaining({ event: `shop/${id}`, state: 'dead_lettered' }));
  const shown = await ask('GET', pathOf(id));
  expect(shown).toMatchObject({
    status: 200,
    json: { event: `shop/${id}`, ledger: 'dead_lettered', temporal: 'failed', deadLetter: { code: 'permanent_error' } },
  });

  const letter = await letterOf(id);
  expect(letter).toMatchObject({ kind: 'event', event: `shop/${id}`, eventKey: keyOf(id), code: 'permanent_error' });
  expect((await ask('GET', '/v1/dead-letters/count?kind=event')).json.items).toMatchObject([
    { kind: 'event', source: 'shop', code: 'permanent_error', oldestAt: expect.any(String) },
  ]);
  const note = { body: { reason: 'my turn', owner: 'alice', note: 'asked the warehouse' }, headers: actor };
  expect(await ask('POST', `/v1/dead-letters/${letter.id}/note`, note)).toMatchObject({
    status: 200,
    json: { event: `shop/${id}`, owner: 'alice', acts: [{ kind: 'note', by: 'alice' }] },
  });
  expect((await ask('GET', `/v1/dead-letters/${letter.id}`)).json).toMatchObject({
    note: 'asked the warehouse',
    reasons: [{ effect: 'ship-order', reasons: [{ message: expect.stringContaining('no shelf') }] }],
  });
  expect((await ask('GET', '/v1/dead-letters?kind=event&owner=alice')).json.items).toMatchObject([{ id: letter.id }]);

  refused.delete(id);
  const wish = { reason: 'there is a shelf', id: randomUUID() };
  const dry = await ask('POST', `${pathOf(id)}/replay`, { body: { ...wish, dryRun: true } });
  expect(dry).toMatchObject({ status: 200, json: { outcome: 'dry_run', steps: [{ effect: 'ship-order' }] } });
  const replayed = await ask('POST', `${pathOf(id)}/replay`, { body: wish, headers: actor });
  expect(replayed).toMatchObject({ status: 202, json: { outcome: 'started', id: wish.id } });
  await ended(id);
  expect((await ask('POST', `${pathOf(id)}/replay`, { body: wish })).json).toEqual(replayed.json);
  expect(await stage.runsOf(keyOf(id))).toHaveLength(2);
  expect(await shipments(id)).toHaveLength(1);
  expect((await ask('GET', `/v1/dead-letters?businessKey=shipment%3A${id}`)).json).toEqual({ items: [] });
  expect((await ask('GET', `/v1/dead-letters?businessKey=shipment%3A${id}&all=true`)).json.items).toHaveLength(1);
  expect((await ask('GET', `/v1/acts?about=${encodeURIComponent(`shop/${id}`)}&by=alice`)).json.items).toMatchObject([
    { kind: 'replay', id: wish.id, reason: 'there is a shelf', outcome: 'started', about: keyOf(id) },
    { kind: 'note', by: 'alice' },
  ]);
  expect(await ask('POST', `${pathOf(id)}/replay`, { body: { reason: 'again' } })).toMatchObject({
    status: 200,
    json: { outcome: 'nothing_to_do' },
  });
});

test('a list of dead letters is one of deliveries unless events, or both, are asked for', async () => {
  const id = await deadLettered();
  const names = async (query: string) =>
    (await api.ask('GET', `/v1/dead-letters?limit=200${query}`)).json.items.map(
      ({ event }: { event?: string }) => event,
    );
  for (const query of ['&kind=event', '&kind=all', '&source=shop', '&kind=event&parked=false']) {
    expect(await names(query)).toContain(`shop/${id}`);
  }
  for (const query of ['', '&kind=delivery', '&kind=event&parked=true', '&source=elsewhere']) {
    expect(await names(query)).toEqual([]);
  }
});

test('an event that waits is tried now, once for each id', async () => {
  const { ask } = api;
  const id = await waiting();
  const wish = { reason: 'it is open', id: randomUUID() };
  const dry = await ask('POST', `${pathOf(id)}/retry-now`, { body: { ...wish, dryRun: true } });
  expect(dry).toMatchObject({
    status: 200,
    json: { outcome: 'dry_run', found: [{ effect: 'ship-order', attempts: 1 }] },
  });
  expect(await shipments(id)).toHaveLength(0);
  locked.delete(id);
  expect(await ask('POST', `${pathOf(id)}/retry-now`, { body: wish, headers: actor })).toMatchObject({
    status: 202,
    json: { outcome: 'told', id: wish.id },
  });
  await ended(id);
  expect(await shipments(id)).toHaveLength(1);
  expect(await ask('POST', `${pathOf(id)}/retry-now`, { body: { reason: 'once more' } })).toMatchObject({
    status: 409,
    json: { code: 'retry_refused' },
  });
});

test('an event is given up, and then neither a redelivery nor the same wish does anything', async () => {
  const { ask } = api;
  const id = await waiting();
  const wish = { reason: 'they cancelled', id: randomUUID() };
  expect(await ask('POST', `${pathOf(id)}/abandon`, { body: { ...wish, dryRun: true } })).toMatchObject({
    status: 200,
    json: { outcome: 'dry_run', state: { temporal: 'running' }, effects: [{ state: 'not_done' }] },
  });
  const abandoned = await ask('POST', `${pathOf(id)}/abandon`, { body: wish, headers: actor });
  expect(abandoned).toMatchObject({ status: 200, json: { outcome: 'abandoned', id: wish.id } });
  locked.delete(id);
  await delivered(id);
  expect((await ask('POST', `${pathOf(id)}/abandon`, { body: wish })).json.outcome).toBe('abandoned');
  expect((await ask('GET', pathOf(id))).json).toMatchObject({ ledger: 'abandoned', abandoned: { by: 'alice' } });
  expect(await shipments(id)).toHaveLength(0);
  expect(await ask('POST', `${pathOf(await delivered())}/abandon`, { body: wish })).toMatchObject({
    status: 409,
    json: { code: 'abandon_refused' },
  });
});

test('an id is taken as the provider spells it, slashes and all', async () => {
  const id = `evt/${randomUUID()}%2F?a=1`;
  await delivered(id);
  expect((await api.ask('GET', pathOf(id))).json).toMatchObject({ event: `shop/${id}`, ledger: 'done' });
});

test('of another tenant nothing is shown and nothing is done, whatever name it is given', async () => {
  const { ask } = api;
  const id = await deadLettered();
  const letter = await letterOf(id);
  const acts = async () => (await stage.sql('SELECT 1 FROM onefold.acts')).length;
  const before = await acts();
  // A source 'event' with this id spells the workflow ID of the event, which belongs to no tenant.
  for (const path of [pathOf(id), `/v1/events/event/${encodeURIComponent(`/shop/${id}`)}`]) {
    expect(await ask('GET', `${path}?tenant=acme`)).toMatchObject({ status: 404, json: { code: 'event_unknown' } });
    for (const act of ['replay', 'retry-now', 'abandon']) {
      const asked = await ask('POST', `${path}/${act}?tenant=acme`, { body: { reason: 'r' } });
      expect(asked, `${act} of ${path}`).toMatchObject({ status: 404, json: { code: 'event_unknown' } });
    }
  }
  for (const name of [letter.id, encodeURIComponent(keyOf(id)), encodeURIComponent(`shop/${id}`)]) {
    const path = `/v1/dead-letters/${name}`;
    const unknown = { status: 404, json: { code: 'dead_letter_unknown' } };
    expect(await ask('GET', `${path}?tenant=acme`)).toMatchObject(unknown);
    expect(await ask('POST', `${path}/note?tenant=acme`, { body: { reason: 'r', note: 'n' } })).toMatchObject(unknown);
  }
  for (const list of [
    'events?source=shop',
    'dead-letters?kind=all',
    'dead-letters/count?kind=event',
    'acts?by=alice',
  ]) {
    expect((await ask('GET', `/v1/${list}&tenant=acme`)).json).toEqual({ items: [] });
  }
  expect((await ask('GET', `/v1/acts?tenant=acme&about=${encodeURIComponent(keyOf(id))}`)).json).toEqual({ items: [] });
  expect(await acts()).toBe(before);
});

test('events are pages with a cursor that a URL can carry', async () => {
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  await stage.sql(
    `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, state, remaining, received_at)
     SELECT $1, 'event/' || $1 || '/shop/e' || n, 'shop', 'e' || n, 'order.paid', 'd', '{}', 'done', 0,
            '2026-02-03T04:05:06Z'::timestamptz + (n / 2) * interval '1 second'
     FROM generate_series(1, 5) AS n`,
    [tenant],
  );
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await api.ask('GET', `/v1/events?tenant=${tenant}&limit=2${cursor}`);
    seen.push(...json.items.map(({ id }: { id: string }) => id));
    if (json.next === undefined) break;
    cursor = `&cursor=${json.next}`;
  }
  expect(seen.sort()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5']);
  const later = await api.ask('GET', `/v1/events?tenant=${tenant}&since=2026-02-03T04:05:08Z`);
  expect(later.json.items).toHaveLength(2);
});

test.each<[string, string, string, object | undefined, number, string]>([
  ['an unknown filter', 'GET', '/v1/events?sauce=shop', undefined, 400, 'request_invalid'],
  ['a state that is none', 'GET', '/v1/events?state=lost', undefined, 400, 'request_invalid'],
  [
    'a filter that what is only received has not',
    'GET',
    '/v1/events?state=received&type=t',
    undefined,
    400,
    'request_invalid',
  ],
  ['a kind that is none', 'GET', '/v1/dead-letters?kind=guess', undefined, 400, 'request_invalid'],
  ['a kind of count that is none', 'GET', '/v1/dead-letters/count?kind=all', undefined, 400, 'request_invalid'],
  ['a kind of act that is none', 'GET', '/v1/acts?kind=guess', undefined, 400, 'request_invalid'],
  ['a source with a slash', 'GET', '/v1/events/a%2Fb/c', undefined, 400, 'identity_invalid'],
  ['a blank event id', 'GET', '/v1/events/shop/%20', undefined, 400, 'identity_missing'],
  ['an event id that is too long', 'GET', `/v1/events/shop/${'e'.repeat(1025)}`, undefined, 400, 'identity_invalid'],
  ['an event that nobody knows', 'GET', '/v1/events/shop/nobody', undefined, 404, 'event_unknown'],
  ['a dead letter that there is not', 'GET', '/v1/dead-letters/999999', undefined, 404, 'dead_letter_unknown'],
  ['an act without a reason', 'POST', '/v1/events/shop/e/replay', {}, 400, 'request_invalid'],
  ['an act with a blank reason', 'POST', '/v1/events/shop/e/replay', { reason: ' ' }, 409, 'replay_refused'],
  [
    'an id that no index holds',
    'POST',
    '/v1/events/shop/e/replay',
    { reason: 'r', id: 'i'.repeat(9e3) },
    409,
    'replay_refused',
  ],
  ['a flag that is none', 'POST', '/v1/events/shop/e/abandon', { reason: 'r', dryRun: 'yes' }, 400, 'request_invalid'],
])('%s is refused by its code', async (_what, method, path, body, status, code) => {
  const answered = await api.ask(method, path, body ? { body } : {});
  expect({ status: answered.status, code: answered.json.code }).toEqual({ status, code });
});

test('a note that says nothing, and an effect that there is not, are refused', async () => {
  const letter = await letterOf(await deadLettered());
  expect(await api.ask('POST', `/v1/dead-letters/${letter.id}/note`, { body: { reason: 'r' } })).toMatchObject({
    status: 409,
    json: { code: 'note_refused' },
  });
  const path = `${pathOf(await delivered())}/replay`;
  expect(await api.ask('POST', path, { body: { reason: 'r', effect: 'fly' } })).toMatchObject({
    status: 409,
    json: { code: 'effect_unknown' },
  });
});
