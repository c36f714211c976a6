import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { businessKey } from '../../src/identity/business-identity.js';
import { claimEffect } from '../../src/ledger/claim-effect.js';
import { completeEffect } from '../../src/ledger/complete-effect.js';
import type { Sql } from '../../src/ledger/database.js';
import { createHarness, type Harness } from '../setup/harness.js';
import { shipmentsTable, shop } from './support/shop.js';

/** What many systems write by hand, and what the README warns of. */
const classicClaim = `
  INSERT INTO claims (key, state, leased_until) VALUES ($1, 'running', now() + interval '30 seconds')
  ON CONFLICT (key) DO UPDATE SET state = 'running', leased_until = now() + interval '30 seconds'
  WHERE claims.leased_until < now()
  RETURNING key`;

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness(
    { sources: [shop], effects: [] },
    {
      worker: false,
      setup: `${shipmentsTable};
        CREATE TABLE claims (key text PRIMARY KEY, state text NOT NULL, leased_until timestamptz NOT NULL)`,
    },
  );
});
afterAll(() => harness?.close());

const limits = { statementTimeoutMs: 5000, lockTimeoutMs: 1000, idleTimeoutMs: 5000 };
const inTransaction = <Result>(work: (sql: Sql) => Promise<Result>) =>
  harness.ledger.database.transaction((_tx, sql) => work(sql), limits);
const rowsOf = async (order: string) =>
  (await harness.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length;

test('the classic claim statement runs a finished effect again once its lease has run out', async () => {
  const order = randomUUID();
  const delivery = () =>
    inTransaction(async (sql) => {
      const { rowCount } = await sql(classicClaim, [order]);
      if (rowCount === 0) return 'duplicate';
      await sql('INSERT INTO shipments (order_id) VALUES ($1)', [order]);
      await sql("UPDATE claims SET state = 'done' WHERE key = $1", [order]);
      return 'ran';
    });
  expect(await delivery()).toBe('ran');
  expect(await delivery()).toBe('duplicate');
  await harness.sql("UPDATE claims SET leased_until = now() - interval '1 second' WHERE key = $1", [order]);
  expect(await delivery()).toBe('ran');
  expect(await rowsOf(order)).toBe(2);
});

test('a completed effect stays done, however long ago', async () => {
  const order = randomUUID();
  const delivery = () =>
    inTransaction(async (sql) => {
      const identity = {
        tenant: '',
        effect: 'ship-order',
        names: ['ship-order'],
        businessKey: businessKey(`shipment:${order}`),
        eventKey: `event//shop/${randomUUID()}`,
        owner: randomUUID(),
      };
      const claim = await claimEffect(sql, harness.ledger.schema, {
        ...identity,
        source: 'shop',
        event: 'shop/1',
        dataDigest: 'digest',
        lockTimeoutMs: 1000,
      });
      if (claim.path === 'done') return claim;
      await sql('INSERT INTO shipments (order_id) VALUES ($1)', [order]);
      await completeEffect(sql, harness.ledger.schema, { ...identity, ...claim, result: '{"first":true}' });
      return claim;
    });
  expect(await delivery()).toMatchObject({ path: 'claimed', fence: 1 });
  await harness.sql(
    "UPDATE onefold.effects SET claimed_at = now() - interval '10 years', done_at = now() - interval '10 years' WHERE business_key = $1",
    [`shipment:${order}`],
  );
  expect(await delivery()).toMatchObject({ path: 'done', result: { json: '{"first":true}' } });
  expect(await rowsOf(order)).toBe(1);
});

test('of twenty transactions at once on one key one claims, and the others read its result', async () => {
  const order = randomUUID();
  const paths = await Promise.all(
    Array.from({ length: 20 }, () =>
      inTransaction(async (sql) => {
        const identity = {
          tenant: '',
          effect: 'ship-order',
          names: ['ship-order'],
          businessKey: businessKey(`shipment:${order}`),
          eventKey: `event//shop/${randomUUID()}`,
          owner: randomUUID(),
        };
        const claim = await claimEffect(sql, harness.ledger.schema, {
          ...identity,
          source: 'shop',
          event: 'shop/1',
          dataDigest: 'digest',
          lockTimeoutMs: 1000,
        });
        if (claim.path === 'claimed') {
          await completeEffect(sql, harness.ledger.schema, { ...identity, ...claim, result: '1' });
        }
        return claim.path;
      }),
    ),
  );
  expect(paths.filter((path) => path === 'claimed')).toHaveLength(1);
});
