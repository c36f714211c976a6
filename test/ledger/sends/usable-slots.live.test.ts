import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeliveryRef } from '../../../src/workflows/delivery-contract.js';
import { createSendStage, type SendStage } from './support/send-stage.js';

let stage: SendStage;
beforeAll(async () => {
  stage = await createSendStage();
});
afterAll(() => stage?.close());

/** As if it had been failing for so long. */
async function failing(endpoint: string, seconds: number): Promise<void> {
  await stage.sql(
    `UPDATE onefold.endpoints SET state_at = clock_timestamp() - interval '1 day',
       failing_since = clock_timestamp() - make_interval(secs => $2) WHERE id = $1`,
    [endpoint, seconds],
  );
}

async function beginMany(endpoint: string, count: number): Promise<{ ref: DeliveryRef; attemptId: string }[]> {
  const refs = await Promise.all(Array.from({ length: count }, () => stage.delivery(endpoint)));
  const begun = await Promise.all(
    refs.map(async (ref) => {
      const attemptId = crypto.randomUUID();
      return { ref, attemptId, kind: (await stage.begin(ref, { attemptId })).kind };
    }),
  );
  return begun.filter(({ kind }) => kind === 'begun');
}

test.each([
  [10, 2],
  [14, 2],
  [4, 1],
  [1, 1],
])('of %i slots an endpoint that has been failing for half a minute gets %i', async (concurrency, left) => {
  const endpoint = await stage.endpoint({ concurrency });
  await failing(endpoint, 31);
  expect(await beginMany(endpoint, concurrency + 2)).toHaveLength(left);
  const slots = await stage.sql(
    'SELECT slot FROM onefold.endpoint_slots WHERE endpoint = $1 AND held_by IS NOT NULL ORDER BY slot',
    [endpoint],
  );
  expect(slots).toEqual(Array.from({ length: left }, (_, nth) => ({ slot: nth + 1 })));
});

test('one that has only begun to fail gets all', async () => {
  const endpoint = await stage.endpoint({ concurrency: 10 });
  await failing(endpoint, 25);
  expect(await beginMany(endpoint, 12)).toHaveLength(10);
});

test('requests from before count: none begins beside more of them than the endpoint gets', async () => {
  const endpoint = await stage.endpoint({ concurrency: 10 });
  const before = await beginMany(endpoint, 10);
  await failing(endpoint, 60);
  expect(await beginMany(endpoint, 3)).toHaveLength(0);
  for (const { ref, attemptId } of before) {
    // What failed is handed to nobody beyond the two.
    await stage.end(ref, { attemptId, version: 1 }, { ended: 'retry' });
  }
  const rows = await stage.sql(
    'SELECT slot FROM onefold.endpoint_slots WHERE endpoint = $1 AND reserved_for IS NOT NULL ORDER BY slot',
    [endpoint],
  );
  expect(rows).toEqual([{ slot: 1 }, { slot: 2 }]);
});

test('its next success restores all, and hands them over to those who wait', async () => {
  const endpoint = await stage.endpoint({ concurrency: 10 });
  await failing(endpoint, 60);
  const [one] = await beginMany(endpoint, 2);
  const waiters: string[] = [];
  for (let nth = 0; nth < 6; nth++) {
    const ref = await stage.delivery(endpoint);
    expect(await stage.begin(ref)).toMatchObject({ kind: 'limited', by: 'concurrency' });
    waiters.push(ref.publication);
  }
  const { ref, attemptId } = one as typeof one & {};
  const { next } = await stage.end(ref, { attemptId, version: 1 }, { ended: 'delivered' });
  expect([...(next ?? [])].sort()).toEqual([...waiters].sort());
  // Ten, but for the other one under way and the six.
  expect(await beginMany(endpoint, 5)).toHaveLength(3);
});
