import { randomUUID } from 'node:crypto';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/ledger/database.js';
import type { PublicationFields } from '../../src/publisher/publication.js';
import { publications } from '../../src/publisher/publications.js';
import { publish, publishIn } from '../../src/publisher/publish.js';
import { createOutboxStage, type OutboxStage } from './support/outbox-stage.js';

let stage: OutboxStage;
beforeAll(async () => {
  stage = await createOutboxStage();
  await stage.endpoint('ep_all');
  await stage.endpoint('ep_orders', { types: ['order.*'] });
  await stage.endpoint('ep_users', { types: ['user.created', 'user.gone'] });
  await stage.endpoint('ep_paused', { types: ['order.confirmed'], state: 'paused' });
  await stage.endpoint('ep_disabled', { types: ['order.confirmed'], state: 'disabled' });
  await stage.endpoint('ep_removed', { state: 'removed' });
  await stage.endpoint('ep_acme', { tenant: 'acme' });
  await stage.endpoint('ep_system', { types: ['endpoint.*'] });
});
afterAll(() => stage?.close());

const limits = { statementTimeoutMs: 10_000, lockTimeoutMs: 10_000, idleTimeoutMs: 10_000 };

function confirmed(more: Partial<PublicationFields> = {}): PublicationFields {
  return { publication: `order:${randomUUID()}:v1`, type: 'order.confirmed', data: { order: '42' }, ...more };
}

async function rowsOf(publication: string): Promise<{ publications: number; deliveries: number }> {
  const [row] = await stage.sql<{ publications: number; deliveries: number }>(
    `SELECT (SELECT count(*)::int FROM onefold.publications WHERE publication = $1) AS publications,
            (SELECT count(*)::int FROM onefold.publication_deliveries WHERE publication = $1) AS deliveries`,
    [publication],
  );
  return row as { publications: number; deliveries: number };
}

test('a publication goes to every endpoint that subscribes, whatever holds it, and to no other', async () => {
  const message = confirmed();
  const published = await publish(stage.deps, message);
  expect(published).toEqual({
    publication: message.publication,
    eventId: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
    path: 'published',
    publishedAt: expect.any(Date),
    deliveries: ['ep_all', 'ep_disabled', 'ep_orders', 'ep_paused'].map((endpoint) => ({ endpoint, state: 'queued' })),
  });
  expect(Math.abs(published.publishedAt.getTime() - Date.now())).toBeLessThan(60_000);
});

test('a publication that nobody subscribes to is kept all the same', async () => {
  const message = confirmed({ tenant: 'nobody' });
  expect((await publish(stage.deps, message)).deliveries).toEqual([]);
  expect(await rowsOf(message.publication)).toEqual({ publications: 1, deliveries: 0 });
});

test('tenants are strangers: the same publication is another one, with another event id', async () => {
  const message = confirmed();
  const one = await publish(stage.deps, message);
  const other = await publish(stage.deps, { ...message, tenant: 'acme', data: { order: '43' } });
  expect(other.path).toBe('published');
  expect(other.deliveries).toEqual([{ endpoint: 'ep_acme', state: 'queued' }]);
  expect(other.eventId).not.toBe(one.eventId);
});

test('publishing again returns what the first time came to, and its deliveries as they stand now', async () => {
  const message = confirmed();
  const first = await publish(stage.deps, message);
  await stage.sql(
    `UPDATE onefold.publication_deliveries SET state = 'delivered' WHERE publication = $1 AND endpoint = $2`,
    [message.publication, 'ep_all'],
  );
  await stage.endpoint(`ep_later_${randomUUID()}`, { types: ['order.note'] });
  const again = await publish(stage.deps, message);
  expect(again).toMatchObject({ path: 'already_published', eventId: first.eventId, publishedAt: first.publishedAt });
  expect(again.deliveries).toEqual([
    { endpoint: 'ep_all', state: 'delivered' },
    ...['ep_disabled', 'ep_orders', 'ep_paused'].map((endpoint) => ({ endpoint, state: 'queued' })),
  ]);
});

test('a hundred parallel publishes of one publication leave one row and one set of deliveries', async () => {
  const message = confirmed();
  const all = await Promise.all(Array.from({ length: 100 }, () => publish(stage.deps, message)));
  expect(all.filter(({ path }) => path === 'published')).toHaveLength(1);
  expect(new Set(all.map(({ eventId }) => eventId)).size).toBe(1);
  expect(await rowsOf(message.publication)).toEqual({ publications: 1, deliveries: 4 });
});

test('of a hundred parallel publishes with different contents one wins and all others conflict', async () => {
  const message = confirmed();
  const all = await Promise.allSettled(
    Array.from({ length: 100 }, (_, amount) => publish(stage.deps, { ...message, data: { order: '42', amount } })),
  );
  const refused = all.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
  expect(refused).toHaveLength(99);
  expect(new Set(refused)).toEqual(new Set(['publication_conflict']));
  expect(await rowsOf(message.publication)).toEqual({ publications: 1, deliveries: 4 });
});

test('a new version of an intent is a publication of its own and is not swallowed', async () => {
  const order = randomUUID();
  const v1 = await publish(stage.deps, confirmed({ publication: `order:${order}:v1` }));
  const v2 = await publish(
    stage.deps,
    confirmed({ publication: `order:${order}:v2`, data: { order: '42', amount: 2 } }),
  );
  expect([v1.path, v2.path]).toEqual(['published', 'published']);
  expect(v2.eventId).not.toBe(v1.eventId);
});

test.each([
  ['other data', { data: { order: '43' } }],
  ['another type', { type: 'order.note' }],
  ['another event id', { eventId: 'evt-other' }],
  ['another retry', { retry: false as const }],
])('the same publication with %s is a conflict, and changes nothing', async (_, change) => {
  const message = confirmed();
  const first = await publish(stage.deps, message);
  await expect(publish(stage.deps, { ...message, ...change })).rejects.toMatchObject({ code: 'publication_conflict' });
  expect(await publish(stage.deps, message)).toMatchObject({ path: 'already_published', eventId: first.eventId });
  expect(await rowsOf(message.publication)).toEqual({ publications: 1, deliveries: 4 });
});

test('another publication with the same event id is a conflict, and leaves nothing', async () => {
  const eventId = `evt-${randomUUID()}`;
  await publish(stage.deps, confirmed({ eventId }));
  const second = confirmed({ eventId });
  await expect(publish(stage.deps, second)).rejects.toMatchObject({ code: 'publication_conflict' });
  expect(await rowsOf(second.publication)).toEqual({ publications: 0, deliveries: 0 });
});

test('key order, absent optional fields and exact numbers do not make another content', async () => {
  const message = confirmed({ type: 'order.note', data: { a: 1, b: { c: 2n, d: undefined }, n: 9007199254740993n } });
  await publish(stage.deps, message);
  const same = { ...message, data: { n: 9007199254740993n, b: { c: 2 }, a: 1.0 } };
  expect((await publish(stage.deps, same)).path).toBe('already_published');
  const oneOff = { ...message, data: { n: 9007199254740992n, b: { c: 2 }, a: 1 } };
  await expect(publish(stage.deps, oneOff)).rejects.toMatchObject({ code: 'publication_conflict' });
});

test('what the schema returns is sent, so a field that it does not name does not leak', async () => {
  const message = confirmed({ data: { order: '42', amount: 7, cardNumber: '4242424242424242' } });
  await publish(stage.deps, message);
  const [row] = await stage.sql<{ body: string }>('SELECT body FROM onefold.publications WHERE publication = $1', [
    message.publication,
  ]);
  const { timestamp, ...rest } = JSON.parse(row?.body ?? '{}');
  expect(rest).toEqual({ type: 'order.confirmed', data: { order: '42', amount: 7 } });
  expect(new Date(timestamp).toISOString()).toBe(timestamp);
  expect(Object.keys(JSON.parse(row?.body ?? '{}'))).toEqual(['type', 'timestamp', 'data']);
});

test('NUL, lone surrogates and digits beyond 2^53 are sent as they are', async () => {
  const message = confirmed({ type: 'order.note', data: { text: 'a\0b\ud800', id: 12345678901234567890n } });
  await publish(stage.deps, message);
  const [row] = await stage.sql<{ body: string }>('SELECT body FROM onefold.publications WHERE publication = $1', [
    message.publication,
  ]);
  expect(row?.body).toContain('"text":"a\\u0000b\\ud800","id":12345678901234567890');
});

test("a type's schedule and a refusal of retries are kept with the publication", async () => {
  const message = confirmed({ retry: false });
  await publish(stage.deps, message);
  expect(
    await stage.sql('SELECT retried, pauses_ms, elapsed_ms, cause FROM onefold.publications WHERE publication = $1', [
      message.publication,
    ]),
  ).toEqual([{ retried: false, pauses_ms: ['10000', '60000'], elapsed_ms: '3600000', cause: null }]);
});

test('a message of 256 KiB goes, and one byte more is refused', async () => {
  const around = '{"type":"order.note","timestamp":"2026-01-01T00:00:00.000Z","data":""}'.length;
  const text = 'x'.repeat(256 * 1024 - around);
  expect((await publish(stage.deps, confirmed({ type: 'order.note', data: text }))).path).toBe('published');
  const over = confirmed({ type: 'order.note', data: `${text}x` });
  await expect(publish(stage.deps, over)).rejects.toMatchObject({ code: 'publication_too_large' });
  const huge = confirmed({ type: 'order.note', data: 'x'.repeat(2 * 1024 * 1024) });
  await expect(publish(stage.deps, huge)).rejects.toMatchObject({ code: 'publication_too_large' });
  expect(await rowsOf(over.publication)).toEqual({ publications: 0, deliveries: 0 });
});

test('publishing takes one round trip, and two where it was published before', async () => {
  let statements: string[] = [];
  const count =
    (sql: Sql): Sql =>
    (text, values) => {
      statements.push(text);
      return sql(text, values);
    };
  const { database, schema } = stage.ledger;
  const deps = {
    ...stage.deps,
    ledger: {
      schema,
      database: {
        ...database,
        query: count(database.query),
        transaction: () => Promise.reject(new Error('no transaction is needed')),
        sqlIn: (tx: never) => count(database.sqlIn(tx)),
      },
    },
  };
  const message = confirmed();
  await publish(deps, message);
  expect(statements).toHaveLength(1);
  statements = [];
  await publish(deps, message);
  expect(statements).toHaveLength(2);
  statements = [];
  await database.transaction((tx) => publishIn(deps, tx, confirmed()), limits);
  expect(statements).toHaveLength(1);
});

test('a rolled back transaction leaves nothing of what was published in it, and wakes nobody', async () => {
  const message = confirmed();
  const listener = new pg.Client({ connectionString: stage.databaseUrl });
  await listener.connect();
  let woken = 0;
  listener.on('notification', () => {
    woken += 1;
  });
  await listener.query('LISTEN onefold_outbox_onefold');
  await expect(
    stage.ledger.database.transaction(async (tx) => {
      expect((await publishIn(stage.deps, tx, message)).deliveries).toHaveLength(4);
      throw new Error('the business said no');
    }, limits),
  ).rejects.toThrow('the business said no');
  expect(await rowsOf(message.publication)).toEqual({ publications: 0, deliveries: 0 });
  await listener.query('SELECT 1');
  expect(woken).toBe(0);
  await publish(stage.deps, message);
  await listener.query('SELECT 1');
  expect(woken).toBe(1);
  await listener.end();
});

test("the user's own pg client can hold the transaction", async () => {
  const client = new pg.Client({ connectionString: stage.databaseUrl });
  await client.connect();
  const message = confirmed();
  await client.query('BEGIN');
  await client.query('CREATE TABLE mine (id text)');
  await publishIn(stage.deps, client as never, message);
  expect(await rowsOf(message.publication)).toEqual({ publications: 0, deliveries: 0 });
  await client.query('COMMIT');
  expect(await rowsOf(message.publication)).toEqual({ publications: 1, deliveries: 4 });
  await client.end();
});

test.each([
  ['no object', null, 'publication_invalid'],
  ['no data', { data: undefined }, 'publication_invalid'],
  ['a misspelt field', { eventID: 'x' }, 'publication_invalid'],
  ['retries demanded', { retry: true }, 'publication_invalid'],
  ['a blank event id', { eventId: '' }, 'publication_invalid'],
  ['an event id with a full stop', { eventId: 'a.b' }, 'publication_invalid'],
  ['an event id that breaks the header', { eventId: 'a\r\nb' }, 'publication_invalid'],
  ['a type of another form', { type: 'order confirmed' }, 'publication_invalid'],
  ["a type of Onefold's own", { type: 'endpoint.disabled' }, 'publication_invalid'],
  ['a type that is not declared', { type: 'order.confirmd' }, 'publication_type_unknown'],
  ['a type that every object has', { type: 'constructor' }, 'publication_type_unknown'],
  ['a blank publication', { publication: ' ' }, 'identity_invalid'],
  ['a publication with NUL', { publication: 'a\0b' }, 'identity_invalid'],
  ['a tenant that is none', { tenant: ' ' }, 'identity_invalid'],
  ['data that do not match', { data: { order: 42 } }, 'data_invalid'],
  ['data that JSON cannot hold', { type: 'order.note', data: { at: new Date() } }, 'data_invalid'],
  ['a number that is none', { type: 'order.note', data: [Number.NaN] }, 'data_invalid'],
])('%s is refused before anything is written', async (_, change, code) => {
  const before = await stage.sql('SELECT count(*) FROM onefold.publications');
  const message = change === null ? null : { ...confirmed(), ...change };
  await expect(publish(stage.deps, message as never)).rejects.toMatchObject({ code });
  expect(await stage.sql('SELECT count(*) FROM onefold.publications')).toEqual(before);
});

test('data that do not match are named by place and kind, never by what the library quotes of them', async () => {
  const secret = 'hunter2';
  const quoting: StandardSchemaV1 = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => ({
        issues: [
          { message: `got ${secret}`, path: ['card', { key: 'number' }], code: 'invalid_format' },
          { message: `got ${secret}`, path: ['pin'], code: `got ${secret}` },
          { message: `got ${secret}` },
        ] as StandardSchemaV1.Issue[],
      }),
    },
  };
  const deps = { ...stage.deps, publications: publications({ events: { 'order.confirmed': quoting } }) };
  await expect(publish(deps, confirmed())).rejects.toMatchObject({
    code: 'data_invalid',
    message: "the data of 'order.confirmed' do not match their schema: card.number (invalid_format); pin; the whole",
  });
});

test('a refusal names the place and never the value', async () => {
  const secret = 'hunter2';
  const refused = publish(stage.deps, confirmed({ type: 'order.note', data: { deep: [Symbol(secret)] } }));
  await expect(refused).rejects.toThrow('data.deep[0] is a symbol');
  await refused.catch((error: Error) => expect(error.message).not.toContain(secret));
});
