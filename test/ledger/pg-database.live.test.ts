import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PgTransaction, pgDatabase } from '../../src/ledger/pg-database.js';
import { createTestDatabase } from '../setup/database.js';

const limits = { statementTimeoutMs: 5000, lockTimeoutMs: 1000, idleTimeoutMs: 5000 };
let created: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  created = await createTestDatabase();
});
afterAll(() => created.drop());

test('a query that comes after its transaction is over is refused, not run in the next one', async () => {
  const database = pgDatabase({ connectionString: created.url, max: 1 });
  try {
    let escaped: PgTransaction | undefined;
    await database.transaction(async (tx) => {
      escaped = tx;
    }, limits);
    await database.transaction(async (_tx, sql) => {
      await expect(escaped?.query('SELECT 1')).rejects.toThrow(/the transaction of this attempt is over/);
      await sql('SELECT 1');
    }, limits);
  } finally {
    await database.close();
  }
});

test('the statements of the ledger stay prepared on a connection, those of effects do not', async () => {
  const database = pgDatabase({ connectionString: created.url, max: 1 });
  const prepared = async (): Promise<string[]> => {
    const { rows } = await database.query<{ statement: string }>('SELECT statement FROM pg_prepared_statements');
    return rows.map(({ statement }) => statement);
  };
  try {
    await database.query('SELECT $1::int AS ledger', [1]);
    await database.transaction((tx) => tx.query('SELECT $1::int AS effect', [1]), limits);
    expect(await prepared()).toEqual(['SELECT $1::int AS ledger']);
  } finally {
    await database.close();
  }
});

test('nothing is prepared where that is switched off', async () => {
  const database = pgDatabase({ connectionString: created.url, max: 1, prepare: false });
  try {
    await database.query('SELECT $1::int AS ledger', [1]);
    expect((await database.query('SELECT 1 FROM pg_prepared_statements')).rows).toEqual([]);
  } finally {
    await database.close();
  }
});

test('COMMIT that answers ROLLBACK is a failed transaction', async () => {
  const database = pgDatabase({ connectionString: created.url });
  try {
    const swallowing = database.transaction(async (tx) => {
      await tx.query('SELECT 1 / 0').catch(() => {});
      return 'as if all were well';
    }, limits);
    await expect(swallowing).rejects.toMatchObject({ code: 'transaction_aborted' });
  } finally {
    await database.close();
  }
});

test('an abort drops the connection, and whatever the work does after it reaches nothing', async () => {
  const database = pgDatabase({ connectionString: created.url });
  try {
    await database.query('CREATE TABLE late (id int)');
    const stop = new AbortController();
    let late: Promise<unknown> = Promise.resolve();
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const work = database.transaction(
      async (tx) => {
        await tx.query('INSERT INTO late VALUES (1)');
        late = new Promise((resolve) => setTimeout(resolve, 200)).then(() => tx.query('INSERT INTO late VALUES (2)'));
        late.catch(() => {});
        begin();
        await late;
      },
      { ...limits, signal: stop.signal },
    );
    await begun;
    stop.abort(new Error('too late'));
    await expect(work).rejects.toThrow('too late');
    await expect(late).rejects.toThrow();
    expect((await database.query('SELECT * FROM late')).rows).toEqual([]);
  } finally {
    await database.close();
  }
});

test('a statement outside a transaction is ended by the server, and one of a transaction by its own limit', async () => {
  const database = pgDatabase({ connectionString: created.url, queryTimeoutMs: 1000 });
  try {
    await expect(database.query('SELECT pg_sleep(3)')).rejects.toMatchObject({ code: '57014' });
    await database.transaction((tx) => tx.query('SELECT pg_sleep(1.2)'), limits);
  } finally {
    await database.close();
  }
});

test('behind a pooler in transaction mode no connection asks for a timeout of its own', async () => {
  const database = pgDatabase({ connectionString: created.url, prepare: false });
  try {
    expect((await database.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }]);
  } finally {
    await database.close();
  }
});

test.each([0, 999, 1.5, 3_600_001])('a query timeout of %d ms is refused', (queryTimeoutMs) => {
  expect(() => pgDatabase({ connectionString: created.url, queryTimeoutMs })).toThrow('pgDatabase.queryTimeoutMs');
});
