import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { outboxChannel } from '../../src/ledger/publications/outbox-channel.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import { until } from '../hazards/support/until.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  pool.on('error', () => {});
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const listeners = async () =>
  (await pool.query("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"))
    .rows;

test('a listener hears what commits, and nothing once it has stopped', async () => {
  const own = pgDatabase({ connectionString: database.url });
  let heard = 0;
  const stop = await own.listen?.('a "quoted" channel', () => {
    heard += 1;
  });
  // Once for the connection itself: something may have been said before.
  expect(heard).toBe(1);
  await pool.query('SELECT pg_notify($1, $2)', ['a "quoted" channel', '']);
  await pool.query('SELECT pg_notify($1, $2)', ['another', '']);
  await until('the notification', () => heard === 2);
  await stop?.();
  await until('it to be gone', async () => (await listeners()).length === 0);
  await own.close();
});

test('a listener whose connection is cut listens again, and asks for a look', async () => {
  const own = pgDatabase({ connectionString: database.url });
  let heard = 0;
  await own.listen?.('cut', () => {
    heard += 1;
  });
  const [{ pid }] = (await listeners()) as [{ pid: number }];
  await pool.query('SELECT pg_terminate_backend($1)', [pid]);
  await until('another connection', async () => (await listeners()).some((one) => one.pid !== pid));
  await until('the look', () => heard === 2);
  await pool.query('SELECT pg_notify($1, $2)', ['cut', '']);
  await until('the notification', () => heard === 3);
  await own.close();
  await until('it to be gone', async () => (await listeners()).length === 0);
});

test('listening resolves while PostgreSQL is away, and tells why', async () => {
  const errors: string[] = [];
  const own = pgDatabase({
    connectionString: 'postgres://127.0.0.1:1/none',
    onIdleError: ({ message }) => void errors.push(message),
  });
  const stop = await own.listen?.('away', () => {
    throw new Error('nobody spoke');
  });
  expect(errors).toHaveLength(1);
  await stop?.();
  await own.close();
});

test('the channel is named after the schema, and never longer than PostgreSQL takes', async () => {
  expect(outboxChannel(schemaName('onefold'))).toBe('onefold_outbox_onefold');
  const long = outboxChannel(schemaName('s'.repeat(63)));
  const other = outboxChannel(schemaName(`${'s'.repeat(62)}t`));
  expect(long).not.toBe(other);
  await pool.query('SELECT pg_notify($1, $2)', [long, '']);
  expect(outboxChannel(schemaName('s'.repeat(48)))).toBe(`onefold_outbox_${'s'.repeat(48)}`);
});
