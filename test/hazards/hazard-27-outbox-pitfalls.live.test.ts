import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { publish, publishIn } from '../../src/publisher/publish.js';
import { createOutboxStage, type OutboxStage } from '../publisher/support/outbox-stage.js';
import { until } from './support/until.js';

let stage: OutboxStage;
beforeAll(async () => {
  stage = await createOutboxStage();
  await stage.endpoint('ep_one');
  await stage.sql('CREATE TABLE orders (id text)');
});
afterAll(() => stage?.close());

const message = (publication: string) => ({ publication, type: 'order.note', data: { n: 1 } });

async function connect(begin: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: stage.databaseUrl });
  await client.connect();
  await client.query(begin);
  return client;
}
const waiting = () =>
  until('one to wait for the other', async () => {
    const rows = await stage.sql(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    return rows.length > 0;
  });
const rowsOf = (publication: string) =>
  stage.sql('SELECT 1 FROM onefold.publication_deliveries WHERE publication = $1', [publication]);

test('a bare insert of what is there aborts the transaction around it', async () => {
  const publication = randomUUID();
  await publish(stage.deps, message(publication));
  const client = await connect('BEGIN');
  const bare = client.query(
    `INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body)
     VALUES ('', $1, 'x', 'order.note', '', '')`,
    [publication],
  );
  await expect(bare).rejects.toMatchObject({ code: '23505' });
  await expect(client.query('INSERT INTO orders VALUES ($1)', [publication])).rejects.toMatchObject({ code: '25P02' });
  await client.end();
});

test('publishing what is there, or what conflicts, leaves the transaction around it whole', async () => {
  const publication = randomUUID();
  await publish(stage.deps, message(publication));
  const client = await connect('BEGIN');
  const again = await publishIn(stage.deps, client as never, message(publication));
  expect(again.path).toBe('already_published');
  const other = { ...message(publication), data: { n: 2 } };
  await expect(publishIn(stage.deps, client as never, other)).rejects.toMatchObject({ code: 'publication_conflict' });
  const taken = { ...message(`${publication}-b`), eventId: again.eventId };
  await expect(publishIn(stage.deps, client as never, taken)).rejects.toMatchObject({ code: 'publication_conflict' });
  await client.query('INSERT INTO orders VALUES ($1)', [publication]);
  await client.query('COMMIT');
  expect(await stage.sql('SELECT 1 FROM orders WHERE id = $1', [publication])).toHaveLength(1);
  await client.end();
});

test('of two open transactions the second waits, and sees what the first committed', async () => {
  const publication = randomUUID();
  const [one, two] = [await connect('BEGIN'), await connect('BEGIN')];
  await publishIn(stage.deps, one as never, message(publication));
  const second = publishIn(stage.deps, two as never, message(publication));
  await waiting();
  await one.query('COMMIT');
  expect((await second).path).toBe('already_published');
  await two.query('COMMIT');
  expect(await rowsOf(publication)).toHaveLength(1);
  await Promise.all([one.end(), two.end()]);
});

test('of two open transactions the second publishes where the first rolls back', async () => {
  const publication = randomUUID();
  const [one, two] = [await connect('BEGIN'), await connect('BEGIN')];
  await publishIn(stage.deps, one as never, message(publication));
  const second = publishIn(stage.deps, two as never, message(publication));
  await waiting();
  await one.query('ROLLBACK');
  expect((await second).path).toBe('published');
  await two.query('COMMIT');
  expect(await rowsOf(publication)).toHaveLength(1);
  await Promise.all([one.end(), two.end()]);
});

test('under REPEATABLE READ a publication of another transaction is 40001, and the repeated transaction finds it', async () => {
  const publication = randomUUID();
  const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ';
  const two = await connect(begin);
  await two.query('SELECT 1 FROM orders');
  await publish(stage.deps, message(publication));
  await expect(publishIn(stage.deps, two as never, message(publication))).rejects.toMatchObject({ code: '40001' });
  await two.query('ROLLBACK');
  await two.query(begin);
  expect((await publishIn(stage.deps, two as never, message(publication))).path).toBe('already_published');
  await two.query('COMMIT');
  await two.end();
  expect(await rowsOf(publication)).toHaveLength(1);
});

test('a database whose default is SERIALIZABLE changes nothing for a publish of its own', async () => {
  const publication = randomUUID();
  const name = new URL(stage.databaseUrl).pathname.slice(1);
  await stage.sql(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
  const database = pgDatabase({ connectionString: stage.databaseUrl });
  try {
    const deps = { ...stage.deps, ledger: { ...stage.ledger, database } };
    const all = await Promise.all(Array.from({ length: 20 }, () => publish(deps, message(publication))));
    expect(all.filter(({ path }) => path === 'published')).toHaveLength(1);
  } finally {
    await database.close();
    await stage.sql(`ALTER DATABASE ${name} RESET default_transaction_isolation`);
  }
});

test('a publication whose transaction commits last is relayed, although later ones were relayed before it', async () => {
  const late = randomUUID();
  const client = await connect('BEGIN');
  await publishIn(stage.deps, client as never, message(late));
  stage.relay();
  const next = randomUUID();
  await publish(stage.deps, message(next));
  const stateOf = (publication: string) => async () => {
    const [row] = await stage.sql<{ state: string }>(
      'SELECT state FROM onefold.publication_deliveries WHERE publication = $1',
      [publication],
    );
    return row?.state === 'started';
  };
  await until('the later one', stateOf(next));
  await client.query('COMMIT');
  await until('the late one', stateOf(late));
  await client.end();
});
