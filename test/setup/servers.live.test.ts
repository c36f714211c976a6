import { Connection } from '@temporalio/client';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { createTestDatabase } from './database.js';

test('the run has a Temporal server that knows the search attributes of Onefold', async () => {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  try {
    const known = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
    expect(Object.keys(known.customAttributes ?? {})).toEqual(
      expect.arrayContaining(['OnefoldBusinessKey', 'OnefoldSource', 'OnefoldState', 'OnefoldType']),
    );
  } finally {
    await connection.close();
  }
});

test('a namespace may forget after two seconds', async () => {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  try {
    await connection.workflowService.registerNamespace({
      namespace: `short-${process.pid}`,
      workflowExecutionRetentionPeriod: { seconds: 2 as never },
    });
  } finally {
    await connection.close();
  }
});

test('two test databases are migrated and know nothing of each other', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  try {
    expect(one.url).not.toBe(other.url);
    for (const { url } of [one, other]) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const schemas = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = 'onefold'");
      expect(schemas.rowCount).toBe(1);
      await client.end();
    }
  } finally {
    await Promise.all([one.drop(), other.drop()]);
  }
});
