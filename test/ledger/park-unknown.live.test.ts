import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/ledger/database.js';
import { parkUnknown } from '../../src/ledger/park-unknown.js';
import { createGate } from '../hazards/support/gate.js';
import { shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness?.close());

interface Row {
  readonly state: string;
  readonly effect?: string;
  readonly eventKey?: string;
  /** From now, in s; null: none. */
  readonly lease?: number | null;
  readonly result?: string | null;
}
async function claimed(...rows: readonly Row[]): Promise<string> {
  const businessKey = randomUUID();
  for (const { state, effect = 'charge', eventKey = 'event//shop/own', lease = -1, result = null } of rows) {
    await harness.sql(
      `INSERT INTO onefold.effects
         (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest, lease_until, result)
       VALUES ('', $1, $2, $3, 4, gen_random_uuid(), $4, 'shop/own', '', clock_timestamp() + make_interval(secs => $5), $6)`,
      [effect, businessKey, state, eventKey, lease, result],
    );
  }
  return businessKey;
}
const give = (businessKey: string, onlyOf?: string, sql: Sql = harness.ledger.database.query) =>
  parkUnknown(sql, harness.ledger.schema, { tenant: '', names: ['charge', 'bill'], businessKey }, onlyOf);
const rowsOf = (businessKey: string) =>
  harness.sql(
    `SELECT state, fence::int, in_doubt, lease_until > clock_timestamp() AS leased FROM onefold.effects
     WHERE business_key = $1 ORDER BY effect`,
    [businessKey],
  );

test.each<Row>([{ state: 'unknown' }, { state: 'unknown', lease: null }, { state: 'claimed' }])(
  'what is %j is unknown, and is parked under the next fence',
  async (row) => {
    const businessKey = await claimed(row);
    expect(await give(businessKey)).toEqual({ state: 'parked' });
    expect(await rowsOf(businessKey)).toEqual([{ state: 'parked', fence: 5, in_doubt: true, leased: null }]);
    expect(await give(businessKey)).toEqual({ state: 'parked' });
    expect(await rowsOf(businessKey)).toMatchObject([{ fence: 5 }]);
  },
);

test.each<[Row, string]>([
  [{ state: 'released', lease: null }, 'nothing_unknown'],
  // A local write's, without its completion: its transaction was split, and no recovery knows of it.
  [{ state: 'claimed', lease: null }, 'nothing_unknown'],
  [{ state: 'performed', result: '1' }, 'performed'],
  [{ state: 'claimed', result: '1' }, 'performed'],
  [{ state: 'done', result: '1', lease: null }, 'done'],
])('what is %j stays as it is, and is said to be %s', async (row, state) => {
  const businessKey = await claimed(row);
  const before = await rowsOf(businessKey);
  expect(await give(businessKey)).toEqual({ state });
  expect(await rowsOf(businessKey)).toEqual(before);
});

test('what was never claimed is nothing unknown', async () => {
  expect(await give(randomUUID())).toEqual({ state: 'nothing_unknown' });
});

test('a claim whose lease runs is left to its attempt, with the rest of the lease', async () => {
  const businessKey = await claimed({ state: 'claimed', lease: 30 });
  const answer = await give(businessKey);
  expect(answer).toEqual({ state: 'leased', leaseLeftMs: expect.any(Number) });
  const { leaseLeftMs } = answer as { leaseLeftMs: number };
  expect(leaseLeftMs).toBeGreaterThan(20_000);
  expect(leaseLeftMs).toBeLessThanOrEqual(30_000);
  expect(await rowsOf(businessKey)).toMatchObject([{ state: 'claimed', fence: 4 }]);
});

test('a lease that runs on for code which was given up is kept when its effect is parked', async () => {
  const businessKey = await claimed({ state: 'unknown', lease: 30 });
  expect(await give(businessKey)).toEqual({ state: 'parked' });
  expect(await rowsOf(businessKey)).toMatchObject([{ state: 'parked', leased: true }]);
});

test('all names of an effect are parked together, and none where one of them is done or under a lease', async () => {
  const unknown = { state: 'unknown' };
  const both = await claimed(unknown, { ...unknown, effect: 'bill' });
  expect(await give(both)).toEqual({ state: 'parked' });
  expect(await rowsOf(both)).toMatchObject([{ state: 'parked' }, { state: 'parked' }]);
  for (const other of [{ state: 'done' }, { state: 'claimed', lease: 30 }]) {
    const one = await claimed(unknown, { ...other, effect: 'bill' });
    expect(await give(one)).toMatchObject({ state: other.state === 'done' ? 'done' : 'leased' });
    expect(await rowsOf(one)).toMatchObject([{ state: other.state }, { state: 'unknown' }]);
  }
});

test("another event's work is no reason to park where only the event's own is asked about", async () => {
  const theirs = await claimed({ state: 'unknown', eventKey: 'event//shop/other' });
  expect(await give(theirs, 'event//shop/own')).toEqual({ state: 'nothing_unknown' });
  expect(await rowsOf(theirs)).toMatchObject([{ state: 'unknown' }]);
  const own = await claimed({ state: 'unknown' });
  expect(await give(own, 'event//shop/own')).toEqual({ state: 'parked' });
});

test.each([
  ['done', 'done'],
  ['unknown', 'parked'],
])('an attempt that is just writing down that it is %s is waited for, and then it is %s', async (written, state) => {
  const businessKey = await claimed({ state: 'released', lease: null });
  const gate = createGate();
  const writing = harness.ledger.database.transaction(
    async (_tx, sql) => {
      await sql('UPDATE onefold.effects SET state = $2 WHERE business_key = $1', [businessKey, written]);
      await gate.pass();
    },
    { statementTimeoutMs: 5000, lockTimeoutMs: 5000, idleTimeoutMs: 5000 },
  );
  await gate.reached;
  const given = give(businessKey);
  await until(
    'the lock wait',
    async () =>
      (
        await harness.sql(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
      ).length > 0,
  );
  gate.open();
  await writing;
  expect(await given).toEqual({ state });
  expect(await rowsOf(businessKey)).toMatchObject([{ state }]);
});
