import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createCatalogue } from '../../src/effects/catalogue.js';
import { businessKey } from '../../src/identity/business-identity.js';
import { claimEffect } from '../../src/ledger/claim-effect.js';
import type { Database, Sql } from '../../src/ledger/database.js';
import { type PgTransaction, pgDatabase } from '../../src/ledger/pg-database.js';
import { createWorker } from '../../src/worker/create-worker.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { orderPaid, shop } from './support/shop.js';

const insert = 'INSERT INTO shipments (order_id) VALUES ($1)';
const insertUnique = 'INSERT INTO parcels (order_id) VALUES ($1)';
let commits = 0;

/** What the commit of an event does to its transaction, by the event's own word. */
const misdeeds: Record<string, (tx: PgTransaction, order: string) => Promise<unknown>> = {
  commit: (tx) => tx.query('COMMIT'),
  'commit behind a comment': (tx) => tx.query('/* tidy */ -- up\n ; commit and chain'),
  end: (tx) => tx.query('END'),
  rollback: (tx) => tx.query('ROLLBACK'),
  begin: (tx) => tx.query('start  transaction'),
  'commit behind another statement': (tx) => tx.query("SELECT ';'; COMMIT; BEGIN"),
  'commit behind a nested comment': (tx) => tx.query('/* /* */ */ COMMIT; /* /* */ */ BEGIN'),
  'a savepoint': async (tx) => {
    await tx.query('SAVEPOINT before');
    await tx.query('INSERT INTO shipments (order_id) VALUES (NULL)').catch(() => {});
    await tx.query('ROLLBACK TO SAVEPOINT before');
  },
  'swallows a unique violation': async (tx, order) => {
    await tx.query(insertUnique, [order]);
    await tx.query(insertUnique, [order]).catch(() => {});
  },
  'on conflict do nothing': async (tx, order) => {
    await tx.query(insertUnique, [order]);
    await tx.query(`${insertUnique} ON CONFLICT DO NOTHING`, [order]);
  },
  'a savepoint around a unique violation': async (tx, order) => {
    await tx.query(insertUnique, [order]);
    await tx.query('SAVEPOINT before');
    await tx.query(insertUnique, [order]).catch(() => tx.query('ROLLBACK TO SAVEPOINT before'));
  },
};
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { initialInterval: 50, maximumInterval: 50, maximumAttempts: 3 },
  commit: async ({ event, tx }) => {
    commits += 1;
    await tx.query(insert, [event.data.order]);
    await misdeeds[event.data.does as string]?.(tx, event.data.order);
    return 'shipped';
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness(
    { sources: [shop], effects: [shipOrder] },
    {
      setup: `CREATE TABLE shipments (id serial PRIMARY KEY, order_id text NOT NULL);
        CREATE TABLE parcels (order_id text PRIMARY KEY)`,
    },
  );
});
afterAll(() => harness?.close());

const rowsOf = async (id: string) => (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).length;
const completions = (id: string) =>
  harness.sql('SELECT state FROM onefold.effects WHERE business_key = $1', [`shipment:${id}`]);
const codesOf = async (id: string) =>
  (await harness.sql<{ code: string }>('SELECT code FROM onefold.dead_letters WHERE event_id = $1', [id])).map(
    ({ code }) => code,
  );

test.each(['commit', 'commit behind a comment', 'commit behind another statement', 'end', 'rollback', 'begin'])(
  'a %s through tx.query is refused before it runs, so that nothing is written',
  async (does) => {
    const event = orderPaid({ does });
    commits = 0;
    await expect((await harness.start(event)).result()).rejects.toThrow();
    expect(await codesOf(event.id)).toEqual(['transaction_split']);
    expect({ rows: await rowsOf(event.id), ledger: await completions(event.id), commits }).toEqual({
      rows: 0,
      ledger: [],
      commits: 1,
    });
  },
);

test('a commit that slips past is found at the completion, and no later attempt or event runs it again', async () => {
  const event = orderPaid({ does: 'commit behind a nested comment' });
  commits = 0;
  await expect((await harness.start(event)).result()).rejects.toThrow();
  expect(await codesOf(event.id)).toEqual(['transaction_split']);
  await expect((await harness.start(event)).result()).rejects.toThrow();
  await expect((await harness.start({ ...orderPaid(), body: event.body })).result()).rejects.toThrow();
  expect({ rows: await rowsOf(event.id), ledger: await completions(event.id), commits }).toEqual({
    rows: 1,
    ledger: [{ state: 'claimed' }],
    commits: 1,
  });
  const [letter] = await harness.sql('SELECT code, occurrences FROM onefold.dead_letters WHERE event_id = $1', [
    event.id,
  ]);
  expect(letter).toEqual({ code: 'claim_without_completion', occurrences: 2 });
});

test('savepoints are fine', async () => {
  const event = orderPaid({ does: 'a savepoint' });
  expect((await resultOf(await harness.start(event))).outcome).toBe('done');
  expect(await rowsOf(event.id)).toBe(1);
});

test('unique-violation-inside-a-transaction: one that was swallowed is never recorded as done', async () => {
  const event = orderPaid({ does: 'swallows a unique violation' });
  await expect((await harness.start(event)).result()).rejects.toThrow();
  const [letter] = await harness.sql('SELECT code, message FROM onefold.dead_letters WHERE event_id = $1', [event.id]);
  expect(letter?.message).toMatch(/transaction/);
  expect({ rows: await rowsOf(event.id), ledger: await completions(event.id) }).toEqual({ rows: 0, ledger: [] });
});

test.each(['on conflict do nothing', 'a savepoint around a unique violation'])(
  'unique-violation-inside-a-transaction: with %s it is done, once',
  async (does) => {
    const event = orderPaid({ does });
    expect((await resultOf(await harness.start(event))).outcome).toBe('done');
    expect(await rowsOf(event.id)).toBe(1);
  },
);

test('unique-violation-inside-a-transaction: a second event on a completed key meets no error on its way', async () => {
  const event = orderPaid();
  await resultOf(await harness.start(event));
  const result = await resultOf(await harness.start({ ...orderPaid(), body: event.body }));
  expect(result.effects[0]).toMatchObject({ outcome: 'already_done', attempts: 1, result: { json: '"shipped"' } });
});

test('a database of the user whose transaction is the bare client: a COMMIT in it is found, and never runs again', async () => {
  const pool = new pg.Pool({ connectionString: harness.databaseUrl, max: 4 });
  const bare: Database<pg.PoolClient> = {
    query: harness.ledger.database.query,
    sqlIn: (client) => async (text, values) => {
      const { rows, rowCount } = await client.query(text, values ? [...values] : undefined);
      return { rows, rowCount: rowCount ?? 0 };
    },
    close: () => pool.end(),
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const result = await work(client, bare.sqlIn(client));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
  };
  const bareEffect = shop.effect('bare', {
    on: 'order.paid',
    businessKey: ({ data }) => `bare:${data.order}`,
    retry: { maximumAttempts: 3, initialInterval: 50 },
    commit: async ({ event, tx }) => {
      commits += 1;
      const client = tx as unknown as pg.PoolClient;
      await client.query(insert, [event.data.order]);
      await client.query('COMMIT');
      await client.query('BEGIN');
    },
  });
  const taskQueue = `bare-${randomUUID()}`;
  let ready: () => void = () => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const worker = createWorker(
    {
      catalogue: createCatalogue([shop], [bareEffect]),
      ledger: { ...harness.ledger, database: bare as unknown as Database<PgTransaction> },
      client: harness.client,
      temporal: { address: inject('temporalAddress') },
      namespace: 'default',
      taskQueue,
      log: { info() {}, warn() {}, debug() {}, error() {} } as never,
      metrics: harness.metrics,
    },
    { onReady: ready, shutdownGraceMs: 500, ownSignals: true },
  );
  const running = worker.run();
  await isReady;
  try {
    const event = orderPaid({}, { effects: ['bare'] });
    commits = 0;
    for (let round = 0; round < 2; round++) {
      const handle = await harness.client.workflow.start('processEvent', {
        workflowId: harness.key(event),
        taskQueue,
        args: [harness.input(event)],
      });
      await expect(handle.result()).rejects.toThrow();
    }
    expect(await codesOf(event.id)).toEqual(['claim_without_completion']);
    expect({ rows: await rowsOf(event.id), commits }).toEqual({ rows: 1, commits: 1 });
  } finally {
    worker.shutdown();
    await running;
    await bare.close();
  }
});

test('a claim carries the time of its statement, not that of its transaction', async () => {
  const key = businessKey(`clock:${randomUUID()}`);
  const limits = { statementTimeoutMs: 5000, lockTimeoutMs: 3000, idleTimeoutMs: 5000 };
  const claim = {
    tenant: '',
    effect: 'clock',
    names: ['clock'],
    businessKey: key,
    eventKey: 'e',
    source: 'shop',
    event: 'e',
    dataDigest: '',
    lockTimeoutMs: 1000,
  };
  const lateMs = await harness.ledger.database.transaction(async (tx, sql) => {
    await tx.query('SELECT pg_sleep(0.3)');
    await claimEffect(sql, harness.ledger.schema, { ...claim, owner: randomUUID() });
    const { rows } = await sql<{ late: number }>(
      `SELECT extract(epoch FROM claimed_at - now())::float8 * 1000 AS late FROM ${harness.ledger.schema}.effects WHERE business_key = $1`,
      [key],
    );
    return rows[0]?.late ?? 0;
  }, limits);
  expect(lateMs).toBeGreaterThanOrEqual(300);
});

test('claims run under READ COMMITTED, whatever the database has as its default', async () => {
  await harness.sql(
    `ALTER DATABASE ${new URL(harness.databaseUrl).pathname.slice(1)} SET default_transaction_isolation = 'serializable'`,
  );
  // The default holds for sessions that begin after it was set.
  const database = pgDatabase({ connectionString: harness.databaseUrl });
  const limits = { statementTimeoutMs: 5000, lockTimeoutMs: 1000, idleTimeoutMs: 5000 };
  const levelIn = (sql: Sql) => sql<{ transaction_isolation: string }>('SHOW transaction_isolation');
  expect((await levelIn(database.query)).rows).toEqual([{ transaction_isolation: 'serializable' }]);
  const { rows } = await database.transaction((_tx, sql) => levelIn(sql), limits);
  await database.close();
  expect(rows).toEqual([{ transaction_isolation: 'read committed' }]);
});
