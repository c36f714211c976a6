import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { pgDatabase } from '../../../src/ledger/pg-database.js';
import { createOnefold } from '../../../src/onefold.js';
import { checkConfiguration } from '../../../src/operations/check/check-configuration.js';
import { findingKinds } from '../../../src/operations/check/finding.js';
import { operationsContext } from '../../../src/operations/context.js';
import { github } from '../../../src/sources/github.js';
import { standardWebhooks } from '../../../src/sources/standard-webhooks.js';
import { types } from '../../../src/sources/types.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const secrets = 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=';
const shop = standardWebhooks('shop', { secrets, events: { paid: types<unknown>() } });
const code = github('code', { secrets, events: { push: types<unknown>() } });
const options = { businessKey: () => 'k', commit: async () => {} };
const ship = shop.effect('ship', { on: 'paid', ...options });
const build = code.effect('build', { on: 'push', ...options });

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  // The database is dropped under connections that are still ending.
  pool.on('error', () => {});
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

interface Servers {
  readonly namespace?: string;
  readonly address?: string;
  readonly databaseUrl?: string;
  readonly schema?: string;
  readonly offline?: boolean;
  readonly effects?: readonly (typeof ship)[];
}

async function check(servers: Servers = {}) {
  const { namespace = 'default', address = inject('temporalAddress'), databaseUrl = database.url } = servers;
  const own = pgDatabase({ connectionString: databaseUrl, max: 2 });
  const onefold = createOnefold({
    sources: [shop, code],
    effects: servers.effects ?? [ship, build],
    database: own,
    temporal: { address, namespace, environment: {} },
    ...(servers.schema ? { schema: servers.schema } : {}),
  });
  try {
    return await checkConfiguration(onefold[operationsContext], {
      offline: servers.offline ?? false,
      graceMs: 10_000,
    });
  } finally {
    await onefold.close();
    await own.close();
  }
}

async function registerNamespace(seconds: number): Promise<string> {
  const namespace = `check-${randomUUID()}`;
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: seconds as never },
    });
  } finally {
    await connection.close();
  }
  return namespace;
}

/** Rows as an application of before left them: a claim per state, or an event with an effect ahead of it. */
async function claim(effect: string, state: string, tenant = ''): Promise<void> {
  await pool.query(
    `INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest)
     VALUES ($1, $2, $3, $4, 1, gen_random_uuid(), 'event//shop/1', 'shop/1', 'd')`,
    [tenant, effect, randomUUID(), state],
  );
}

async function plannedEvent(effect: string, state: string, outcome: string | null = null): Promise<void> {
  const key = `event//shop/${randomUUID()}`;
  await pool.query(
    `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, state, remaining, received_at)
     VALUES ('', $1, 'shop', '1', 'paid', 'd', '{}', $2, 1, now())`,
    [key, state],
  );
  await pool.query(
    `INSERT INTO onefold.event_effects (tenant, event_key, effect, business_key, outcome) VALUES ('', $1, $2, 'k', $3)`,
    [key, effect, outcome],
  );
}

test('a configuration on servers that fit it has no problem, and everything was looked at', async () => {
  const namespace = await registerNamespace(7 * 86_400);
  const report = await check({ namespace });
  expect(report).toMatchObject({
    ok: true,
    problems: 0,
    leftOut: [],
    namespace: { namespace, retentionMs: 604_800_000 },
    ledger: { schema: 'onefold', missingMigrations: [], unknownEffects: [] },
  });
  // A namespace that nobody has prepared lacks the search attributes.
  expect(report.findings).toMatchObject([{ id: 'search_attributes_missing', level: 'warning' }]);
  expect(report.findings[0]?.remedy).toBe('onefold setup registers them');
  expect(report.findings[0]?.message).toContain('OnefoldBusinessKey');
  // Nothing is published, so nobody looks for deliveries.
  expect(report.findings[0]?.message).not.toContain('OnefoldEndpoint');
});

test('search attributes that are registered are no finding', async () => {
  const report = await check();
  expect(report.namespace?.searchAttributes).toEqual([
    'OnefoldBusinessKey',
    'OnefoldEndpoint',
    'OnefoldSource',
    'OnefoldState',
    'OnefoldType',
  ]);
  expect(report.findings.map(({ id }) => id)).not.toContain('search_attributes_missing');
});

test('a retention below what the sweeper needs is a problem, one below the providers a warning for each', async () => {
  const [short, hour] = await Promise.all([registerNamespace(3_599), registerNamespace(3_600)]);
  const found = async (namespace: string) =>
    (await check({ namespace })).findings.map(({ id, place }) => `${id} ${place}`);
  const tooShortForProviders = ["retention_below_redelivery source 'shop'", "retention_below_redelivery source 'code'"];
  expect(await found(short)).toEqual(
    expect.arrayContaining([`retention_below_sweep namespace '${short}'`, ...tooShortForProviders]),
  );
  expect((await found(hour)).filter((text) => text.startsWith('retention'))).toEqual(tooShortForProviders);
});

test('a retention as long as the provider can be asked to deliver again is no finding for that provider', async () => {
  const found = async (seconds: number) =>
    (await check({ namespace: await registerNamespace(seconds) })).findings
      .filter(({ id }) => id === 'retention_below_redelivery')
      .map(({ place }) => place);
  expect(await found(3 * 86_400)).toEqual(["source 'shop'"]);
  expect(await found(3 * 86_400 - 1)).toEqual(["source 'shop'", "source 'code'"]);
});

test('an effect that only the ledger knows is a warning while nothing of it is under way', async () => {
  await claim('removed', 'done');
  await claim('removed', 'released', 'tenant-a');
  await plannedEvent('removed', 'done', 'done');
  await plannedEvent('removed', 'abandoned');
  const { ok, findings, ledger } = await check();
  expect(ok).toBe(true);
  expect(ledger?.unknownEffects).toContainEqual({
    effect: 'removed',
    unfinishedClaims: 0,
    openEvents: 0,
    deadLetteredEvents: 0,
  });
  expect(findings.filter(({ message }) => message.includes("'removed'"))).toMatchObject([
    { id: 'effect_forgotten', level: 'warning' },
  ]);
});

test('a dead letter that a replay would carry on is told with the warning', async () => {
  await plannedEvent('dead-only', 'dead_lettered');
  const found = (await check()).findings.find(({ message }) => message.includes("'dead-only'"));
  expect(found).toMatchObject({ id: 'effect_forgotten', message: expect.stringContaining('1 dead-lettered event') });
});

test.each(['claimed', 'unknown', 'performed', 'parked'])(
  'a claim left %s under an unknown name is a problem',
  async (state) => {
    const effect = `left-${state}`;
    await claim(effect, 'done');
    await claim(effect, state, 'tenant-b');
    const { ok, findings } = await check();
    expect(ok).toBe(false);
    expect(findings.find(({ message }) => message.includes(`'${effect}'`))).toMatchObject({
      id: 'effect_unfinished',
      level: 'problem',
      message: expect.stringContaining('with 1 unfinished claim:'),
    });
  },
);

test('an open event with an unknown effect ahead of it is a problem, claimed or not, until that has ended', async () => {
  await plannedEvent('ahead', 'open');
  await plannedEvent('ahead', 'open', 'done');
  const found = (await check()).findings.find(({ message }) => message.includes("'ahead'"));
  expect(found).toMatchObject({ id: 'effect_unfinished', message: expect.stringContaining('with 1 open event:') });
});

test('names that the configuration has, or had formerly, are known', async () => {
  await claim('ship', 'claimed');
  await claim('sent-by-post', 'claimed');
  const renamed = shop.effect('ship', { on: 'paid', ...options, formerly: 'sent-by-post' });
  const unknown = async (effects: readonly (typeof ship)[]) =>
    (await check({ effects })).ledger?.unknownEffects?.map(({ effect }) => effect);
  expect(await unknown([renamed, build])).not.toEqual(expect.arrayContaining(['sent-by-post']));
  expect(await unknown([renamed, build])).not.toEqual(expect.arrayContaining(['ship']));
  expect(await unknown([ship, build])).toEqual(expect.arrayContaining(['sent-by-post']));
});

test('a ledger that was never migrated, or not to the end, is a problem', async () => {
  expect((await check({ schema: 'nobody_made_it' })).findings).toMatchObject([
    { id: 'migration_missing', level: 'problem', remedy: expect.stringContaining('onefold migrate') },
    ...(await retentionFindings()),
  ]);
  const older = await createTestDatabase();
  try {
    const client = new pg.Client({ connectionString: older.url });
    await client.connect();
    await client.query("DELETE FROM onefold.migrations WHERE name = '0002_external_effects'");
    await client.end();
    const report = await check({ databaseUrl: older.url });
    expect(report.findings[0]).toMatchObject({
      id: 'migration_missing',
      message: expect.stringContaining('0002_external_effects'),
    });
    expect(report.leftOut).toEqual(['effects that only the ledger knows']);
    expect(report.ledger).toMatchObject({ missingMigrations: ['0002_external_effects'], unknownEffects: null });
  } finally {
    await older.drop();
  }
});

/** Of the run's own namespace, which forgets after a day. */
async function retentionFindings() {
  return (await check()).findings.filter(({ id }) => id === 'retention_below_redelivery');
}

test.each([
  ['Temporal away', { address: '127.0.0.1:1' }, 'temporal_unavailable'],
  ['PostgreSQL away', { databaseUrl: 'postgres://u:hidden@127.0.0.1:1/x' }, 'ledger_unavailable'],
  ['a namespace that is not there', { namespace: 'nowhere' }, 'config_invalid'],
])('%s is a problem that names --offline, and the other server is checked all the same', async (_what, servers, id) => {
  const report = await check(servers);
  expect(report.findings.filter(({ level, message }) => level === 'problem' && !message.includes('an effect'))).toEqual(
    [expect.objectContaining({ id, remedy: expect.stringContaining('--offline') })],
  );
  expect([report.namespace, report.ledger].filter((part) => part === null)).toHaveLength(1);
  expect(JSON.stringify(report)).not.toContain('hidden');
});

test('a database that refuses the password is a problem and not a defect', async () => {
  const url = new URL(database.url);
  url.username = 'nobody_of_that_name';
  const report = await check({ databaseUrl: url.href });
  expect(report.findings.map(({ id }) => id)).toContain('ledger_unavailable');
});

test('offline neither server is asked, and what was left out is said', async () => {
  const report = await check({ offline: true, address: '127.0.0.1:1', databaseUrl: 'postgres://127.0.0.1:1/x' });
  expect(report).toMatchObject({ ok: true, namespace: null, ledger: null, findings: [] });
  expect(report.leftOut).toHaveLength(4);
});

test('problems come before warnings, and each is of the level of its kind', async () => {
  const { findings, problems } = await check({ schema: 'nobody_made_it', effects: [ship] });
  expect(findings.slice(0, problems).every(({ level }) => level === 'problem')).toBe(true);
  expect(findings.slice(problems).map(({ id }) => id)).toContain('source_without_effects');
  for (const { id, level } of findings) expect(level).toBe(findingKinds[id].level);
});
