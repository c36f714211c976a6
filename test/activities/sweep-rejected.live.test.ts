import { afterAll, beforeAll, expect, test } from 'vitest';
import { sweepLedger } from '../../src/activities/sweep-ledger.js';
import { insertRejections } from '../../src/ledger/rejected/insert-rejections.js';
import type { RejectedRequest } from '../../src/ledger/rejected/rejection.js';
import { shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness?.close());

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const ago = (ms: number) => new Date(Date.now() - ms);

function sample(source: string, receivedAt: Date, bodyUntil?: Date): RejectedRequest {
  return {
    source,
    code: 'signature_mismatch',
    reason: '',
    status: 401,
    method: 'POST',
    headers: '{}',
    network: null,
    digest: 'd',
    bytes: 1,
    receivedAt,
    body: bodyUntil ? { sealed: Buffer.from('sealed'), key: 'k1', until: bodyUntil } : null,
  };
}

test('bodies go when their day is over, samples and counts after 30 days, and what is younger stays', async () => {
  const { ledger, client } = harness;
  const hours = [ago(31 * dayMs), ago(29 * dayMs)];
  await insertRejections(
    ledger.database.query,
    ledger.schema,
    hours.map((hour) => ({ hour, source: 'shop', code: 'signature_mismatch', reason: '', count: 7 })),
    [
      sample('older', ago(30 * dayMs + hourMs)),
      sample('old', ago(29 * dayMs), ago(28 * dayMs)),
      sample('fresh', ago(hourMs), new Date(Date.now() + 23 * hourMs)),
    ],
  );
  const swept = await sweepLedger({ ledger, client, progress: () => {} });
  expect(swept).toMatchObject({ rejected: 2, rejectedBodies: 1 });
  expect(
    await harness.sql('SELECT source, body IS NOT NULL AS kept, digest FROM onefold.rejected_requests ORDER BY source'),
  ).toEqual([
    { source: 'fresh', kept: true, digest: 'd' },
    { source: 'old', kept: false, digest: 'd' },
  ]);
  expect(await harness.sql('SELECT count::int FROM onefold.rejected_counts')).toEqual([{ count: 7 }]);
  expect(await sweepLedger({ ledger, client, progress: () => {} })).toMatchObject({ rejected: 0, rejectedBodies: 0 });
});

test('a sweep goes on over more rows than one statement takes', async () => {
  const { ledger, client } = harness;
  await harness.sql(
    `INSERT INTO onefold.rejected_requests (source, code, reason, status, method, headers, received_at)
     SELECT 'many', 'c', '', 401, 'POST', '{}', now() - interval '40 days' FROM generate_series(1, 2500)`,
  );
  expect(await sweepLedger({ ledger, client, progress: () => {} })).toMatchObject({ rejected: 2500 });
});
