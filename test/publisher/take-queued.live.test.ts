import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TakeQueued, takeQueued } from '../../src/ledger/publications/take-queued.js';
import { createOutboxStage, type OutboxStage } from './support/outbox-stage.js';

let stage: OutboxStage;
beforeAll(async () => {
  stage = await createOutboxStage();
  const client = new pg.Client({ connectionString: stage.databaseUrl });
  await client.connect();
  // A flood on one endpoint, a little on two hundred others, and a history that ended long ago.
  await client.query(
    `INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body)
     SELECT '', 'p' || n, 'msg_' || n, 'order.note', '', '{}' FROM generate_series(1, 100000) n`,
  );
  await client.query(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state)
     SELECT '', 'p' || n, 'ep_flood', 'queued' FROM generate_series(1, 100000) n
     UNION ALL
     SELECT '', 'p' || n, 'ep_old', 'delivered' FROM generate_series(1, 50000) n
     UNION ALL
     SELECT '', 'p' || n, 'ep_small_' || (n % 200), 'queued' FROM generate_series(1, 2000) n
     UNION ALL
     SELECT '', 'p' || n, 'ep_behind', 'queued' FROM generate_series(1, 90000) n
     UNION ALL
     SELECT '', 'p' || n, 'ep_behind', 'started' FROM generate_series(90001, 90300) n`,
  );
  await client.query('ANALYZE onefold.publication_deliveries');
  await client.end();
});
afterAll(() => stage?.close());

const take: TakeQueued = { after: undefined, limit: 100, queues: 200, perQueue: 4, window: 200, leaseMs: 30_000 };

async function explained(take: TakeQueued): Promise<{ text: string; rows: number; buffers: number }> {
  let text = '';
  await takeQueued(
    async (statement, values) => {
      const { rows } = await stage.ledger.database.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) ${statement}`,
        values,
      );
      text = rows.map((row) => row['QUERY PLAN']).join('\n');
      return { rows: [], rowCount: 0 };
    },
    stage.ledger.schema,
    take,
  );
  const scans = [...text.matchAll(/Scan.*rows=([\d.]+) loops=(\d+)/g)];
  const rows = scans.reduce((sum, [, each, loops]) => sum + Number(each) * Number(loops), 0);
  const [, hit = '0', , read = '0'] = /Buffers: shared hit=(\d+)( read=(\d+))?/.exec(text) ?? [];
  return { text, rows, buffers: Number(hit) + Number(read) };
}

test('a take jumps from queue to queue by the index, whatever lies in them and beside them', async () => {
  const { text, rows, buffers } = await explained(take);
  expect(text).toContain('publication_deliveries_queued');
  expect(text).toContain('publication_deliveries_waiting');
  expect(text).not.toMatch(/Seq Scan on (publication_deliveries|publications)/);
  // Some 240,000 rows lie there; it looks at some hundred.
  expect(rows).toBeLessThan(4_000);
  expect(buffers).toBeLessThan(8_000);
});

test('each queue has its turn: passes go round, and each takes a few of every queue', async () => {
  const taken = new Map<string, number>();
  let { after } = take;
  for (let turn = 0; turn < 20; turn++) {
    const batch = await takeQueued(stage.ledger.database.query, stage.ledger.schema, { ...take, after });
    for (const { endpoint } of batch.deliveries) taken.set(endpoint, (taken.get(endpoint) ?? 0) + 1);
    after = batch.next;
    if (after === undefined) break;
  }
  expect(after).toBeUndefined();
  expect(taken.size).toBe(201);
  expect(new Set(taken.values())).toEqual(new Set([4]));
  expect(taken.has('ep_behind')).toBe(false);
});

test('what was taken is not taken again until its lease is over', async () => {
  const own = { ...take, after: { tenant: '', endpoint: 'ep_b' }, queues: 1, limit: 5, perQueue: 5, leaseMs: 400 };
  await stage.sql(`UPDATE onefold.publication_deliveries SET state = 'delivered' WHERE endpoint = 'ep_behind'`);
  const ids = async () => {
    const { deliveries } = await takeQueued(stage.ledger.database.query, stage.ledger.schema, own);
    return deliveries.map(({ endpoint, publication }) => `${endpoint}/${publication}`);
  };
  const [one, two] = await Promise.all([ids(), ids()]);
  expect(one).toHaveLength(5);
  expect(two).toHaveLength(5);
  expect(new Set([...one, ...two]).size).toBe(10);
  const third = await ids();
  expect(third.filter((id) => one.includes(id) || two.includes(id))).toEqual([]);
  await sleep(500);
  // The oldest first, as before.
  expect([...(await ids()), ...(await ids())].sort()).toEqual([...one, ...two].sort());
});
