import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { pgDatabase } from '../../../src/ledger/pg-database.js';
import { createOnefold, type Onefold } from '../../../src/onefold.js';
import { checkConfiguration } from '../../../src/operations/check/check-configuration.js';
import { operationsContext, type PublishingContext } from '../../../src/operations/context.js';
import type { EndpointSettings } from '../../../src/publisher/endpoint-settings.js';
import { publications } from '../../../src/publisher/publications.js';
import { createSealer } from '../../../src/runtime/seal.js';
import { types } from '../../../src/sources/types.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const outgoing = publications({ events: { 'order.shipped': types<unknown>(), 'order.note': types<unknown>() } });
const key = (name: string) => `${name}:${randomBytes(32).toString('base64')}`;
const keys = key('k1');

let testDatabase: TestDatabase;
let pool: pg.Pool;
let database: ReturnType<typeof pgDatabase>;
let onefold: Onefold<(typeof outgoing)['events']>;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  pool = new pg.Pool({ connectionString: testDatabase.url, max: 2 });
  // The database is dropped under connections that are still ending.
  pool.on('error', () => {});
  database = pgDatabase({ connectionString: testDatabase.url, max: 4 });
  process.env.ONEFOLD_SECRETS_KEYS = keys;
  onefold = application(true);
});
afterAll(async () => {
  await onefold?.close();
  await database?.close();
  await pool?.end();
  await testDatabase?.drop();
});
beforeEach(async () => {
  await pool.query(
    'TRUNCATE onefold.endpoints, onefold.endpoint_secrets, onefold.publications, onefold.publication_deliveries',
  );
});

function application(publishes: boolean) {
  return createOnefold({
    sources: [],
    effects: [],
    ...(publishes ? { publications: outgoing } : {}),
    egress: { allow: ['127.0.0.1'], tenants: true },
    database,
    temporal: { address: inject('temporalAddress'), environment: {} },
    logger: pino({ level: 'silent' }),
  }) as typeof onefold;
}

/** @param secretsKeys What this process is told of keys; by default those that the endpoints were made with. */
async function check(secretsKeys: string | undefined = keys, checked = onefold) {
  const context = Object.create(checked[operationsContext], {
    sealer: { value: createSealer(secretsKeys) },
  }) as PublishingContext;
  const report = await checkConfiguration(context, { graceMs: 10_000 });
  // Of the run's own namespace, which forgets after a day, nothing is asked here.
  return { ...report, publishing: report.ledger?.publishing, ids: report.findings.map(({ id }) => id) };
}

async function endpoint(more: Partial<EndpointSettings> & { readonly tenant?: string } = {}): Promise<string> {
  const { tenant = '', ...settings } = more;
  const url = 'http://127.0.0.1:9/hook';
  return (await onefold.tenant(tenant).endpoints.create({ url, types: ['*'], ...settings })).endpoint.id;
}

async function found(id: string, ...args: Parameters<typeof check>) {
  return (await check(...args)).findings.filter((one) => one.id === id);
}

/** Publishes to an endpoint, as long ago as it says. */
async function queued(secondsAgo: number): Promise<string> {
  const { publication } = await onefold.publish({ publication: randomUUID(), type: 'order.shipped', data: {} });
  await pool.query(
    `UPDATE onefold.publication_deliveries SET queued_at = now() - $2 * interval '1 second' WHERE publication = $1`,
    [publication, secondsAgo],
  );
  return publication;
}

test('endpoints that get everything, and an empty queue, are no finding', async () => {
  await endpoint();
  await endpoint({ tenant: 'acme', headers: { authorization: 'fake' } });
  const { ids, publishing, leftOut } = await check();
  expect(ids).toEqual([]);
  expect(leftOut).toEqual([]);
  expect(publishing).toEqual({
    endpoints: 2,
    disabled: 0,
    failing: 0,
    keys: [{ key: 'k1', secrets: 2, headers: 1, endpoints: 2, opens: true }],
    typesWithoutEndpoints: [],
    overdue: 0,
    oldestMs: 0,
  });
});

test('missing keys are a problem from the first endpoint on, and none before', async () => {
  expect((await check('')).ids).not.toContain('secrets_keys_missing');
  await endpoint();
  const [missing] = await found('secrets_keys_missing', '');
  expect(missing).toMatchObject({ level: 'problem', message: expect.stringContaining('the ledger has 1 endpoint:') });
});

test('malformed keys are one finding, and the rest of the ledger is checked all the same', async () => {
  await endpoint();
  await queued(120);
  const { ids, publishing } = await check('nothing');
  expect(ids).toEqual(['secrets_keys_invalid', 'relay_missing']);
  expect(publishing?.keys).toMatchObject([{ key: 'k1', opens: null }]);
});

test('a removed endpoint needs no key', async () => {
  await onefold.endpoints.remove(await endpoint());
  expect((await check('')).ids).not.toContain('secrets_keys_missing');
});

test('what a key sealed that is not configured is counted, and the first few endpoints are named', async () => {
  const ids = [];
  for (let made = 0; made < 5; made++) ids.push(await endpoint({ headers: { 'x-a': 'b' } }));
  const [unreadable, ...others] = await found('secrets_unreadable', key('k2'));
  expect(others).toEqual([]);
  expect(unreadable?.level).toBe('problem');
  expect(unreadable?.message).toContain(
    "5 secrets and the headers of 5 endpoints cannot be opened: sealed with the key 'k1'",
  );
  expect(ids.filter((id) => unreadable?.message.includes(id)).length).toBeLessThanOrEqual(3);
  expect(unreadable?.message).toMatch(/Nothing is sent to 5 endpoints \(ep_.*, …\)$/);
  expect((await check(`${key('k2')},${keys}`)).ids).toEqual([]);
});

test('another key under the same name is found by opening what it sealed', async () => {
  await endpoint({ tenant: 'acme' });
  const [unreadable] = await found('secrets_unreadable', key('k1'));
  expect(unreadable?.message).toContain("the key 'k1' does not open it");
  expect(unreadable?.message).toContain('of tenant acme');
});

test('a secret that has expired needs no key', async () => {
  const id = await endpoint();
  await pool.query(
    `INSERT INTO onefold.endpoint_secrets (tenant, endpoint, id, sealed, sealed_by, expires_at)
     VALUES ('', $1, gen_random_uuid(), '\\x00', 'old', now() - interval '1 second')`,
    [id],
  );
  expect((await check()).ids).toEqual([]);
});

test('disabled endpoints are a warning, and paused ones are not', async () => {
  const [off, paused] = [await endpoint(), await endpoint()];
  await onefold.endpoints.disable(off);
  await onefold.endpoints.pause(paused);
  const { findings, publishing } = await check();
  expect(findings).toMatchObject([{ id: 'endpoints_disabled', level: 'warning', place: 'endpoints' }]);
  expect(findings[0]?.message).toContain(`1 endpoint (${off}) is disabled`);
  expect(publishing).toMatchObject({ endpoints: 2, disabled: 1 });
});

test('an endpoint is failing after an hour of failures, and not before', async () => {
  const id = await endpoint();
  const failing = (minutes: number) =>
    pool.query(`UPDATE onefold.endpoints SET failing_since = now() - $1 * interval '1 minute'`, [minutes]);
  await failing(59);
  expect((await check()).ids).toEqual([]);
  await failing(61);
  const [warning] = await found('endpoints_failing');
  expect(warning).toMatchObject({
    level: 'warning',
    message: expect.stringContaining(`1 endpoint (${id}) is failing`),
  });
});

test('an endpoint that subscribes to nothing of the catalogue is a warning, unless it wants what Onefold tells', async () => {
  await endpoint();
  await endpoint({ types: ['endpoint.*'] });
  await endpoint({ types: ['order.*'] });
  expect((await check()).ids).toEqual([]);
  const typo = await endpoint({ types: ['orders.*', 'order.shiped'] });
  const [warning] = await found('endpoint_without_types');
  expect(warning?.message).toContain(`1 endpoint (${typo}) is subscribed to nothing`);
});

test('a type that no endpoint subscribes to is a note, and no endpoint at all is one note', async () => {
  const none = await check();
  expect(none).toMatchObject({ ok: true, problems: 0, warnings: 0, notes: 1 });
  expect(none.findings).toMatchObject([{ id: 'type_without_endpoints', level: 'note' }]);
  expect(none.findings[0]?.message).toContain('there is no endpoint yet');
  await endpoint({ types: ['order.shipped'] });
  const [note] = await found('type_without_endpoints');
  expect(note?.message).toContain('no endpoint subscribes to order.note:');
  await onefold.endpoints.remove(await endpoint({ types: ['order.*'] }));
  expect((await check()).publishing?.typesWithoutEndpoints).toEqual(['order.note']);
});

test('a schedule beyond the elapsed time of its endpoint, or beyond the default one, is a warning', async () => {
  await endpoint({ schedule: ['1 hour', '1 hour'], maximumElapsed: '2 hours' });
  await endpoint({ maximumElapsed: '1 minute' });
  await endpoint({ schedule: ['5 days'] });
  expect((await check()).ids).toEqual([]);
  const own = await endpoint({ schedule: ['1 hour', '1 hour'], maximumElapsed: '119 minutes' });
  const byDefault = await endpoint({ schedule: ['3 days', '3 days'] });
  const [warning] = await found('schedule_exceeds_elapsed');
  expect(warning?.message).toMatch(
    new RegExp(`2 endpoints \\((${own}, ${byDefault}|${byDefault}, ${own})\\) are given`),
  );
});

test('what has been queued for more than a minute is a problem, what is younger is not', async () => {
  await endpoint();
  await queued(50);
  expect((await check()).ids).toEqual([]);
  await queued(70);
  await queued(200);
  const { findings, publishing } = await check();
  expect(findings).toMatchObject([{ id: 'relay_missing', level: 'problem' }]);
  expect(findings[0]?.message).toMatch(/^2 deliveries queued for more than a minute, the oldest for 3\.\d minutes/);
  expect(publishing?.overdue).toBe(2);
  expect(publishing?.oldestMs).toBeGreaterThanOrEqual(200_000);
});

test.each([
  [
    'taken',
    `UPDATE onefold.publication_deliveries SET relay_until = now() + interval '30 seconds' WHERE publication = $1`,
  ],
  ['started', `UPDATE onefold.publication_deliveries SET state = 'started', started_at = now() WHERE publication = $1`],
])(
  'a queue of which something was just %s has a relay that is behind, which is a warning',
  async (_what, statement) => {
    await endpoint();
    await queued(300);
    await pool.query(statement, [await queued(300)]);
    const { findings } = await check();
    expect(findings).toMatchObject([{ id: 'relay_behind', level: 'warning' }]);
  },
);

test('what a relay leaves queued since thrice its concurrency wait for their endpoint is no finding', async () => {
  const id = await endpoint();
  await queued(300);
  const wait = (from: number, to: number) =>
    pool.query(
      `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state, started_at)
       SELECT '', 'p' || n, $1, 'started', now() - interval '1 day' FROM generate_series($2::integer, $3) AS n`,
      [id, from, to],
    );
  await wait(1, 29);
  expect((await check()).ids).toEqual(['relay_missing']);
  await wait(30, 30);
  expect((await check()).ids).toEqual([]);
});

test('where queues are so long that they are not counted to their end, that is said', async () => {
  const id = await endpoint();
  await pool.query(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, queued_at)
     SELECT '', 'p' || n, $1, now() - interval '1 hour' FROM generate_series(1, 1001) AS n`,
    [id],
  );
  expect((await found('relay_missing'))[0]?.message).toMatch(/^at least 1000 deliveries queued/);
});

test('queues of several tenants and endpoints are looked at each', async () => {
  await endpoint();
  await endpoint();
  await queued(90);
  await pool.query(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, queued_at)
     VALUES ('acme', 'p', 'ep_x', now() - interval '2 hours')`,
  );
  expect((await check()).publishing).toMatchObject({ overdue: 3 });
});

test('deliveries under way are a problem where nothing is published any more, and ended ones are none', async () => {
  await endpoint();
  const publication = await queued(0);
  const silent = application(false);
  const [problem] = await found('deliveries_unfinished', keys, silent);
  expect(problem).toMatchObject({ level: 'problem', message: expect.stringContaining('1 delivery under way') });
  await pool.query(`UPDATE onefold.publication_deliveries SET state = 'started' WHERE publication = $1`, [publication]);
  expect(await found('deliveries_unfinished', keys, silent)).toHaveLength(1);
  await pool.query(`UPDATE onefold.publication_deliveries SET state = 'delivered' WHERE publication = $1`, [
    publication,
  ]);
  const { ids, publications: described, publishing } = await check(keys, silent);
  expect({ ids, described, publishing }).toEqual({ ids: [], described: null, publishing: null });
});

test('a namespace in which deliveries cannot be found by their endpoint is a warning', async () => {
  const namespace = `check-${randomUUID()}`;
  const { client } = onefold[operationsContext];
  await client.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  const context = Object.create(onefold[operationsContext], { namespace: { value: namespace } }) as PublishingContext;
  const { findings } = await checkConfiguration(context, { graceMs: 10_000 });
  const [warning] = findings.filter(({ id }) => id === 'search_attributes_missing');
  expect(warning?.message).toContain('OnefoldEndpoint');
});

test('where the ledger cannot be asked, what was left out of publishing is said', async () => {
  const context = Object.create(onefold[operationsContext], {
    ledger: { value: { database, schema: '"nobody_made_it"' } },
  }) as PublishingContext;
  const { leftOut, ledger } = await checkConfiguration(context, { graceMs: 10_000 });
  expect(ledger?.publishing ?? null).toBeNull();
  expect(leftOut).toEqual(
    expect.arrayContaining(['the endpoints and what opens their secrets', 'the queue of deliveries']),
  );
});

test('no finding shows a secret, a header or a URL', async () => {
  await endpoint({ headers: { authorization: 'Bearer hidden' }, types: ['nothing.here'] });
  await queued(90);
  const text = JSON.stringify([await check(''), await check(key('k9')), await check()]);
  expect(text).not.toMatch(/whsec_|hidden|127\.0\.0\.1:9|Bearer/);
});
