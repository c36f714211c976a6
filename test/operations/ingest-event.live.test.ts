import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { PermanentError } from '../../src/effects/errors.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { createOnefold } from '../../src/onefold.js';
import { custom } from '../../src/sources/custom.js';
import { fromEnv } from '../../src/sources/from-env.js';
import { github } from '../../src/sources/github.js';
import { shopify } from '../../src/sources/shopify.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { shipmentsTable, shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { captureLog } from '../receiver/support/captured-log.js';
import { createStage, type Deployed, type Stage } from './support/stage.js';

let stage: Stage;
let app: Deployed;
const broken = new Set<string>();

const ship = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ tx, event }) => {
    if (broken.has(event.data.order)) throw new PermanentError('no shelf');
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

beforeAll(async () => {
  stage = await createStage({ setup: shipmentsTable });
  app = stage.deploy([ship]);
  await app.startWorker();
});
afterAll(() => stage?.close());

const why = { by: 'alice', reason: 'the provider gave up on it' };
const bodyOf = (order: string, more: object = {}) => JSON.stringify({ type: 'order.paid', data: { order, ...more } });
const ingest = (id: string, options: object = {}) => app.onefold.ingest('shop', bodyOf(id), { ...why, id, ...options });
const shipments = async (order: string) =>
  (await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length;
const ended = (id: string) =>
  stage.client.workflow
    .getHandle(`event//shop/${id}`)
    .result()
    .catch(() => 'failed');
const actsOf = (id: string) =>
  stage.sql('SELECT kind, actor, reason, outcome, seen FROM onefold.acts WHERE event_key = $1', [`event//shop/${id}`]);
const rowsOf = (id: string) =>
  stage.sql(
    'SELECT path, code, status, signed, act, body_differs FROM onefold.deliveries WHERE event_key = $1 ORDER BY id',
    [`event//shop/${id}`],
  );

test('an unknown event takes the path of a delivery, marked as unsigned, and a redelivery of it is the duplicate', async () => {
  const id = randomUUID();
  const outcome = await ingest(id);
  expect(outcome).toMatchObject({
    event: `shop/${id}`,
    eventKey: `event//shop/${id}`,
    type: 'order.paid',
    effects: ['ship-order'],
    state: { ledger: 'unknown', temporal: 'unknown' },
    path: 'first_run',
    bodyDiffers: false,
  });
  expect(await ended(id)).toMatchObject({ outcome: 'done' });
  expect(await app.deliver(id)).toMatchObject({ path: 'duplicate_done', status: 200 });
  expect(await shipments(id)).toBe(1);
  await until('both rows', async () => ((await rowsOf(id)).length === 2 ? true : undefined));
  expect(await rowsOf(id)).toMatchObject([
    { path: 'first_run', status: 202, signed: false, act: outcome.act },
    { path: 'duplicate_done', status: 200, signed: true, act: null, body_differs: false },
  ]);
  expect(await actsOf(id)).toMatchObject([
    { kind: 'ingest', actor: 'alice', reason: why.reason, outcome: 'first_run' },
  ]);
  const lines = app.lines.filter((line) => line.eventKey === `event//shop/${id}`);
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'webhook.claim', path: 'first_run', signed: false, act: outcome.act }),
  );
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'webhook.ingested', by: 'alice', act: outcome.act }));
});

test('an event that is done is a duplicate, with its outcome, and nothing runs', async () => {
  const id = randomUUID();
  await app.deliver(id);
  await ended(id);
  expect(await ingest(id)).toMatchObject({
    path: 'duplicate_done',
    outcome: 'done',
    state: { ledger: 'done', temporal: 'completed' },
  });
  expect(await shipments(id)).toBe(1);
  expect(await stage.runsOf(`event//shop/${id}`)).toHaveLength(1);
});

test('an event that failed is run again', async () => {
  const id = randomUUID();
  broken.add(id);
  await app.deliver(id);
  expect(await ended(id)).toBe('failed');
  broken.delete(id);
  expect(await ingest(id, { dryRun: true })).toMatchObject({ path: 'retry_after_failure', dryRun: true });
  expect(await shipments(id)).toBe(0);
  expect(await ingest(id)).toMatchObject({ path: 'retry_after_failure', state: { ledger: 'dead_lettered' } });
  expect(await ended(id)).toMatchObject({ outcome: 'done' });
  expect(await shipments(id)).toBe(1);
});

test('another body than the known one is said, before and after', async () => {
  const id = randomUUID();
  await app.deliver(id);
  await ended(id);
  const other = bodyOf(id, { amount: 2 });
  expect(await app.onefold.ingest('shop', other, { ...why, id, dryRun: true })).toMatchObject({ bodyDiffers: true });
  expect(await app.onefold.ingest('shop', other, { ...why, id })).toMatchObject({ bodyDiffers: true });
});

test('a dry run changes nothing', async () => {
  const id = randomUUID();
  expect(await ingest(id, { dryRun: true })).toMatchObject({ path: 'first_run', dryRun: true });
  expect(await actsOf(id)).toEqual([]);
  expect(await rowsOf(id)).toEqual([]);
  expect(await stage.runsOf(`event//shop/${id}`)).toEqual([]);
});

test('the same act again is the same wish, also where the event has failed since; its id is no other act', async () => {
  const id = randomUUID();
  broken.add(id);
  const act = `act-${id}`;
  expect(await ingest(id, { act })).toMatchObject({ path: 'first_run', act });
  expect(await ended(id)).toBe('failed');
  expect(await ingest(id, { act })).toMatchObject({ path: 'first_run', act });
  expect(await rowsOf(id)).toHaveLength(1);
  await expect(ingest(randomUUID(), { act })).rejects.toMatchObject({ code: 'ingest_refused' });
});

test('two people who hand in one event at once start one run', async () => {
  const id = randomUUID();
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => ingest(id)));
  expect(outcomes.filter(({ path }) => path === 'first_run')).toHaveLength(1);
  await ended(id);
  expect(await shipments(id)).toBe(1);
  expect(await actsOf(id)).toHaveLength(5);
});

test('wishes without who or why, unknown sources and options, and bodies that no request may have are refused', async () => {
  const id = randomUUID();
  const { onefold } = app;
  const refused = (payload: string, options: object, source = 'shop') =>
    onefold.ingest(source, payload, { ...why, ...options }).catch((error) => error.code);
  expect(await refused(bodyOf(id), { id, reason: ' ' })).toBe('ingest_refused');
  expect(await refused(bodyOf(id), { id, by: '' })).toBe('ingest_refused');
  expect(await refused(bodyOf(id), { id }, 'nobody')).toBe('unknown_source');
  expect(await refused(bodyOf(id), { id, nonsense: 1 })).toBe('config_invalid');
  expect(await refused(bodyOf(id), {})).toBe('identity_missing');
  expect(await refused('{', { id })).toBe('body_malformed');
  expect(await refused(`${'['.repeat(300)}${']'.repeat(300)}`, { id })).toBe('body_too_deep');
  expect(await refused(bodyOf(id, { fill: 'x'.repeat(1_100_000) }), { id })).toBe('body_too_large');
  expect(await refused(bodyOf(id), { id, type: 'order.refunded' })).toBe('ingest_refused');
  expect(await refused(bodyOf(id), { id, tenant: 'acme' })).toBe('ingest_refused');
  expect(await stage.sql(`SELECT 1 FROM onefold.acts WHERE outcome = 'asked'`)).toEqual([]);
});

test('a type that no effect takes is ignored, and recorded where the source records all', async () => {
  const id = randomUUID();
  const payload = JSON.stringify({ type: 'order.refunded', data: { order: id } });
  expect(await app.onefold.ingest('shop', payload, { ...why, id })).toMatchObject({ path: 'ignored', effects: [] });
  expect(await rowsOf(id)).toMatchObject([{ path: 'ignored', signed: false }]);
  expect(await stage.runsOf(`event//shop/${id}`)).toEqual([]);
});

test('an event beyond what an input takes travels by the ledger', async () => {
  const id = randomUUID();
  const payload = bodyOf(id, { fill: 'x'.repeat(200_000) });
  expect(await app.onefold.ingest('shop', Buffer.from(payload), { ...why, id })).toMatchObject({ path: 'first_run' });
  expect(await ended(id)).toMatchObject({ outcome: 'done' });
});

/** An application of sources whose secrets are set nowhere: handing in needs none. */
function withoutSecrets() {
  const events = {
    'issues.opened': types<unknown>(),
    'orders/create': types<unknown>(),
    'order.paid': types<unknown>(),
  };
  const secrets = fromEnv('NOT_SET_ANYWHERE');
  const byHeader = ({ request }: { request: { headers: Readonly<Record<string, unknown>> } }) =>
    request.headers['x-tenant'] as string;
  const sources = [
    github('code', { secrets, events }),
    shopify('store', { secrets, events }),
    standardWebhooks('tenants', { secrets, events, tenant: byHeader, record: 'all' }),
    custom('erp', { verify: 'unverified', identity: { field: 'id' }, type: { fixed: 'order.paid' }, events }),
  ];
  const effects = sources.slice(0, 2).map((source, index) =>
    source.effect(`note-${source.name}`, {
      on: index === 0 ? 'issues.opened' : 'orders/create',
      businessKey: ({ id }) => id,
      commit: async () => undefined,
    }),
  );
  const database = pgDatabase({ connectionString: stage.databaseUrl });
  const { log } = captureLog();
  const onefold = createOnefold({
    sources,
    effects,
    database,
    logger: log,
    // Nobody works there.
    taskQueue: `nobody-${randomUUID()}`,
    temporal: { address: inject('temporalAddress'), environment: {} },
  });
  return { onefold, close: () => onefold.close().then(() => database.close()) };
}

test('each source reads an event as from a request, and says what is missing', async () => {
  const { onefold, close } = withoutSecrets();
  const id = randomUUID();
  const refused = (source: string, payload: object, options: object = {}) =>
    onefold.ingest(source, { ...payload }, { ...why, ...options }).catch((error) => `${error.code}: ${error.message}`);
  try {
    const opened = { action: 'opened', issue: { number: 1 } };
    expect(await onefold.ingest('code', opened, { ...why, id, type: 'issues.opened' })).toMatchObject({
      event: `code/${id}`,
      type: 'issues.opened',
      path: 'first_run',
    });
    // Its identity lies outside the signature, so another body is refused there as well.
    expect(await refused('code', { ...opened, issue: { number: 2 } }, { id, type: 'issues' })).toMatch(/^body_differs/);
    expect(await refused('code', opened, { type: 'issues' })).toMatch(/^identity_missing: .*give the id/);
    expect(await refused('code', opened, { id })).toMatch(/^type_missing: .*give its type/);

    const topic = { id, type: 'orders/create' };
    expect(await refused('store', { order: 1 }, topic)).toMatch(/^identity_missing: .*X-Shopify-Shop-Domain/);
    const headers = { 'X-Shopify-Shop-Domain': 'a.myshopify.com' };
    const stored = await onefold.ingest('store', { order: 1 }, { ...why, ...topic, headers });
    expect(stored.event).toContain('a.myshopify.com');

    expect(await onefold.ingest('erp', { id: 7 }, why)).toMatchObject({ event: 'erp/7', path: 'ignored' });
    expect(await refused('erp', { id: 7 }, { id: '8' })).toMatch(/^ingest_refused: id: .*"7", not "8"/);
  } finally {
    await close();
  }
});

test('a tenant that the source cannot tell is asked for, and one that it tells is not overruled', async () => {
  const { onefold, close } = withoutSecrets();
  const id = randomUUID();
  const give = (options: object) =>
    onefold.ingest('tenants', { type: 'nothing.takes.it' }, { ...why, id, ...options }).catch((error) => error.code);
  try {
    expect(await give({})).toBe('ingest_refused');
    expect(await give({ tenant: ' ' })).toBe('identity_invalid');
    expect(await give({ tenant: 'acme' })).toMatchObject({ eventKey: `event/acme/tenants/${id}`, path: 'ignored' });
    expect(await give({ headers: { 'X-Tenant': 'acme' } })).toMatchObject({ eventKey: `event/acme/tenants/${id}` });
    expect(await give({ headers: { 'X-Tenant': 'acme' }, tenant: 'other' })).toBe('ingest_refused');
    const key = [`event/acme/tenants/${id}`];
    expect(await stage.sql('SELECT tenant, state FROM onefold.events WHERE event_key = $1', key)).toEqual([
      { tenant: 'acme', state: 'ignored' },
    ]);
    expect(await stage.sql('SELECT tenant FROM onefold.acts WHERE event_key = $1', key)).toHaveLength(2);
  } finally {
    await close();
  }
});

test('with PostgreSQL away nothing is started', async () => {
  const id = randomUUID();
  const away = stage.deploy([ship], {
    around: (database) => ({ ...database, query: () => Promise.reject(new Error('away')) }),
  });
  await expect(away.onefold.ingest('shop', bodyOf(id), { ...why, id })).rejects.toThrow();
  expect(await stage.runsOf(`event//shop/${id}`)).toEqual([]);
});
