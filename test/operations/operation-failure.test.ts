import { expect, test } from 'vitest';
import type { Database } from '../../src/ledger/database.js';
import { createOnefold } from '../../src/onefold.js';
import { shop } from '../hazards/support/shop.js';

const effect = shop.effect('ship-order', { on: 'order.paid', businessKey: () => 'k', commit: async () => {} });

/** Replays with a database that fails so, or knows nothing, and a Temporal that is away. */
async function replay(failure?: unknown, id?: string): Promise<unknown> {
  const query = failure ? () => Promise.reject(failure) : async () => ({ rows: [], rowCount: 0 });
  const database = {
    query,
    transaction: () => Promise.reject(failure),
    sqlIn: () => query,
    close: async () => {},
  } as Database<any>;
  const temporal = { address: '127.0.0.1:1', environment: {} };
  const onefold = createOnefold({ sources: [shop], effects: [effect], database, temporal });
  const options = { by: 'bob', reason: 'r', ...(id === undefined ? {} : { id }) };
  return onefold.replay('shop/evt_1', options).finally(() => onefold.close());
}

test('Temporal being away is said with a code, within seconds', async () => {
  const began = Date.now();
  await expect(replay()).rejects.toMatchObject({
    code: 'temporal_unavailable',
    message: expect.stringMatching(/^Temporal did not answer: /),
  });
  expect(Date.now() - began).toBeLessThan(5000);
});

test.each(['42P01', '3F000', '42703'])('a ledger that is not there (%s) is said with what to do', async (state) => {
  const missing = Object.assign(new Error('relation does not exist'), { code: state, severity: 'ERROR' });
  await expect(replay(missing, 'act')).rejects.toMatchObject({
    code: 'migration_missing',
    message: expect.stringContaining('onefold migrate'),
  });
});

test('a defect is handed on as it is', async () => {
  const defect = new TypeError('x is not a function');
  await expect(replay(defect, 'act')).rejects.toBe(defect);
});
