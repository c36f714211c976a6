import { expect, test } from 'vitest';
import { endsTransaction } from '../../src/ledger/ends-transaction.js';

test.each([
  'COMMIT',
  ' commit;',
  'Commit and chain',
  'END',
  'abort',
  'ROLLBACK',
  'rollback work',
  'BEGIN',
  'start\n transaction',
  "PREPARE TRANSACTION 'x'",
  '-- a remark\nCOMMIT',
  '/* a remark; */ COMMIT',
  "INSERT INTO t VALUES ('a;b'); COMMIT",
  ';;COMMIT',
])('%s ends a transaction', (text) => {
  expect(endsTransaction(text)).toBe(true);
});

test.each([
  "INSERT INTO t VALUES ('; COMMIT')",
  "INSERT INTO t VALUES (E'it\\'s; COMMIT')",
  `UPDATE "t; COMMIT" SET a = 1`,
  'DO $$ BEGIN PERFORM 1; END $$',
  'DO $body$ BEGIN PERFORM 1; END $body$',
  'SAVEPOINT a',
  'ROLLBACK TO a',
  'ROLLBACK TO SAVEPOINT a; SELECT 1',
  'rollback work to a',
  'RELEASE a',
  '-- COMMIT\nSELECT 1',
  'SELECT 1 /*; COMMIT */',
  'SELECT $1::text, $2',
  'SELECT commit FROM endings',
])('%s does not', (text) => {
  expect(endsTransaction(text)).toBe(false);
});
