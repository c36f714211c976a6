import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { createHarness, type Harness } from '../setup/harness.js';
import { createGate } from './support/gate.js';
import { shop } from './support/shop.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness?.close());

const limits = { statementTimeoutMs: 5000, lockTimeoutMs: 1000, idleTimeoutMs: 5000 };

test('an attempt whose time runs out in the queue for a connection begins nothing', async () => {
  const database = pgDatabase({ connectionString: harness.databaseUrl, max: 1 });
  const gate = createGate();
  const holder = database.transaction(() => gate.pass(), limits);
  await gate.reached;
  const late = new AbortController();
  let began = false;
  const attempt = database.transaction(
    async () => {
      began = true;
    },
    { ...limits, signal: late.signal },
  );
  const refused = expect(attempt).rejects.toThrow('its time is over');
  await sleep(50);
  late.abort(new Error('its time is over'));
  await sleep(50);
  gate.open();
  await holder;
  await refused;
  expect(began).toBe(false);
  expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await database.close();
});

test('an attempt that was told to stop cannot commit, even where its work never listens', async () => {
  const stop = new AbortController();
  const gate = createGate();
  await harness.sql('CREATE TABLE late (id integer)');
  const attempt = harness.ledger.database.transaction(
    async (tx) => {
      await tx.query('INSERT INTO late VALUES (1)');
      await gate.pass();
      await tx.query('INSERT INTO late VALUES (2)');
    },
    { ...limits, signal: stop.signal },
  );
  const refused = expect(attempt).rejects.toThrow('told to stop');
  await gate.reached;
  stop.abort(new Error('told to stop'));
  await refused;
  gate.open();
  await sleep(100);
  expect(await harness.sql('SELECT * FROM late')).toEqual([]);
});
