import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fitPace } from '../../../src/ledger/endpoints/fit-pace.js';
import { fitSlots } from '../../../src/ledger/endpoints/fit-slots.js';
import { lockEndpoint } from '../../../src/ledger/endpoints/lock-endpoint.js';
import { nextVersion } from '../../../src/ledger/endpoints/next-version.js';
import { createSendStage, type SendStage } from './support/send-stage.js';

let stage: SendStage;
beforeAll(async () => {
  stage = await createSendStage({ connections: 30 });
});
afterAll(() => stage?.close());

const many = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make));

test('of many that begin at once, exactly as many get a slot as the endpoint takes requests', async () => {
  const endpoint = await stage.endpoint({ concurrency: 7 });
  const refs = await many(60, () => stage.delivery(endpoint));
  const begun = await Promise.all(refs.map((ref) => stage.begin(ref)));
  expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(7);
  const refused = begun.filter(({ kind }) => kind === 'limited');
  expect(refused).toHaveLength(53);
  for (const one of refused) {
    expect(one).toMatchObject({ by: 'concurrency' });
    expect(one).not.toHaveProperty('ticket');
    expect((one as { waitMs: number }).waitMs).toBeGreaterThanOrEqual(2_000);
    expect((one as { waitMs: number }).waitMs).toBeLessThanOrEqual(3_000);
  }
  // Who was refused has left nothing.
  expect(await count('publication_attempts', endpoint)).toBe(7);
});

test('while slots are taken and given back in parallel, no more than the limit are ever held', async () => {
  const endpoint = await stage.endpoint({ concurrency: 3 });
  let holding = 0;
  let most = 0;
  let done = 0;
  await many(40, async () => {
    const ref = await stage.delivery(endpoint);
    for (;;) {
      const attemptId = randomUUID();
      const begun = await stage.begin(ref, { attemptId });
      if (begun.kind !== 'begun') {
        await sleep(5 + Math.random() * 20);
        continue;
      }
      holding++;
      most = Math.max(most, holding);
      await sleep(Math.random() * 10);
      holding--;
      done++;
      await stage.end(ref, { attemptId, version: begun.version }, { ended: 'delivered' });
      return;
    }
  });
  expect(done).toBe(40);
  expect(most).toBe(3);
  const slots = await stage.sql(`SELECT held_by FROM onefold.endpoint_slots WHERE endpoint = $1`, [endpoint]);
  expect(slots).toEqual([{ held_by: null }, { held_by: null }, { held_by: null }]);
});

test("a killed holder's slot is free once its lease is over, and not before", async () => {
  const endpoint = await stage.endpoint({ concurrency: 1, timeoutMs: 800 });
  const killed = await stage.begun(await stage.delivery(endpoint), { leaseMarginMs: 400 });
  const other = await stage.delivery(endpoint);
  await sleep(400);
  expect(await stage.begin(other)).toMatchObject({ kind: 'limited', by: 'concurrency' });
  await sleep(killed.leaseUntil.getTime() - Date.now() + 20);
  expect(await stage.begin(other)).toMatchObject({ kind: 'begun' });
});

test('an end that comes after the slot went to another attempt leaves it alone', async () => {
  const endpoint = await stage.endpoint({ concurrency: 1, timeoutMs: 20 });
  const late = await stage.delivery(endpoint);
  const first = await stage.begun(late, { leaseMarginMs: 20 });
  await sleep(60);
  const second = await stage.begun(await stage.delivery(endpoint));
  await stage.end(late, first, { ended: 'retry' });
  expect(await stage.sql(`SELECT held_by FROM onefold.endpoint_slots WHERE endpoint = $1`, [endpoint])).toEqual([
    { held_by: second.attemptId },
  ]);
});

test('a limit that is lowered and raised again while requests are under way is not exceeded', async () => {
  const endpoint = await stage.endpoint({ concurrency: 5 });
  const early = await many(5, async () => {
    const ref = await stage.delivery(endpoint);
    return { ref, begun: await stage.begun(ref) };
  });
  const limitTo = async (concurrency: number) => {
    await stage.sql('UPDATE onefold.endpoints SET concurrency = $2 WHERE id = $1', [endpoint, concurrency]);
    await fitSlots(stage.ledger.database.query, stage.ledger.schema, { tenant: '', id: endpoint }, concurrency);
  };
  const beginMany = async () => {
    const begun = await many(8, async () => stage.begin(await stage.delivery(endpoint)));
    // No slot is handed over to those who were refused.
    await stage.sql('UPDATE onefold.publication_deliveries SET waiting_since = NULL WHERE endpoint = $1', [endpoint]);
    return begun.filter(({ kind }) => kind === 'begun').length;
  };
  await limitTo(1);
  await limitTo(5);
  expect(await beginMany()).toBe(0);

  // Lowered, a slot above the limit is free once its request ends, and nobody takes it.
  await limitTo(1);
  for (const { ref, begun } of early) await stage.end(ref, begun, { ended: 'delivered' });
  expect(await beginMany()).toBe(1);
  await limitTo(5);
  expect(await beginMany()).toBe(4);
});

test("one endpoint's slots are nothing to another's, nor to the same id of another tenant", async () => {
  const endpoint = await stage.endpoint({ concurrency: 1 });
  await stage.begun(await stage.delivery(endpoint));
  await stage.begun(await stage.delivery(await stage.endpoint({ concurrency: 1 })));
  const theirs = await stage.endpoint({ tenant: 'acme', concurrency: 1 });
  await stage.begun(await stage.delivery(theirs, { tenant: 'acme' }));
});

test('an endpoint that was written by hand, without rows for its limits, is given them', async () => {
  const endpoint = await stage.endpoint({ concurrency: 2, rateLimit: 1000, limits: false });
  const begun = await many(5, async () => stage.begin(await stage.delivery(endpoint)));
  expect(begun.some(({ kind }) => kind === 'begun')).toBe(true);
  expect(await count('endpoint_slots', endpoint)).toBe(2);
  expect(await count('endpoint_pace', endpoint)).toBe(1);
});

test('of many attempts at one delivery at once, one begins', async () => {
  const endpoint = await stage.endpoint({ concurrency: 10 });
  const ref = await stage.delivery(endpoint);
  const begun = await many(8, () => stage.begin(ref));
  expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(1);
  expect(begun.filter(({ kind }) => kind === 'limited')).toHaveLength(7);
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ attempts: 1, possible_arrivals: 1 });
  expect(attempts).toHaveLength(1);
});

test('a delivery that is delivered while another attempt at it waits for its row is not sent again', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  const first = await stage.begun(ref);
  const [ended, second] = await stage.ledger.database.transaction(
    async (_tx, sql) => {
      await sql(`SELECT 1 FROM onefold.publication_deliveries WHERE publication = $1 FOR UPDATE`, [ref.publication]);
      const waiting = stage.begin(ref);
      await sleep(150);
      await sql(`UPDATE onefold.publication_deliveries SET state = 'delivered' WHERE publication = $1`, [
        ref.publication,
      ]);
      return [first, waiting] as const;
    },
    { statementTimeoutMs: 5_000, lockTimeoutMs: 5_000, idleTimeoutMs: 5_000 },
  );
  expect(ended.kind).toBe('begun');
  expect(await second).toEqual({ kind: 'delivered' });
  expect((await stage.look(ref)).attempts).toHaveLength(1);
});

test("after a long wait for the pace's lock, lease and turn are counted from its end (hazard 26)", async () => {
  const endpoint = await stage.endpoint({ rateLimit: 1, timeoutMs: 400 });
  const waiting = await stage.ledger.database.transaction(
    async (_tx, sql) => {
      await sql(`SELECT 1 FROM onefold.endpoint_pace WHERE endpoint = $1 FOR UPDATE`, [endpoint]);
      const begin = stage.begin(await stage.delivery(endpoint), { leaseMarginMs: 100 });
      await sleep(600);
      return { begin };
    },
    { statementTimeoutMs: 5_000, lockTimeoutMs: 5_000, idleTimeoutMs: 5_000 },
  );
  const begun = await waiting.begin;
  expect(begun).toMatchObject({ kind: 'begun' });
  expect((begun as { leftMs: number }).leftMs).toBeGreaterThan(400);
  const [{ next }] = (await stage.sql(
    `SELECT extract(epoch FROM next_at - clock_timestamp())::float8 AS next FROM onefold.endpoint_pace WHERE endpoint = $1`,
    [endpoint],
  )) as [{ next: number }];
  expect(next).toBeGreaterThan(0.9);
});

test('attempts and changes of their endpoint, all at once, wait for each other and never deadlock', async () => {
  const endpoint = await stage.endpoint({ rateLimit: 2_000, concurrency: 6 });
  const at = { tenant: '', id: endpoint };
  let changes = 0;
  let sent = 0;
  const end = performance.now() + 2_000;
  const goesOn = (): boolean => performance.now() < end || (changes < 25 && performance.now() < end + 20_000);
  const send = async (): Promise<void> => {
    let ref = await stage.delivery(endpoint);
    while (goesOn()) {
      const attemptId = randomUUID();
      const begun = await stage.begin(ref, { attemptId });
      if (begun.kind !== 'begun') continue;
      sent++;
      // Every other one fails, so that the endpoint's row is written as well.
      const how = sent % 2 === 0 ? ({ ended: 'retry' } as const) : ({ ended: 'delivered' } as const);
      await stage.end(ref, { attemptId, version: begun.version }, how);
      ref = await stage.delivery(endpoint);
    }
  };
  const change = async (): Promise<void> => {
    while (goesOn()) {
      await stage.ledger.database.transaction(
        async (_tx, sql) => {
          await lockEndpoint(sql, stage.ledger.schema, at);
          await nextVersion(sql, stage.ledger.schema, at);
          await fitPace(sql, stage.ledger.schema, at, true);
          await fitSlots(sql, stage.ledger.schema, at, 3 + (changes % 4));
        },
        { statementTimeoutMs: 5_000, lockTimeoutMs: 5_000, idleTimeoutMs: 5_000 },
      );
      changes++;
      await sleep(5);
    }
  };
  await Promise.all([...Array.from({ length: 10 }, send), change(), change()]);
  expect(changes).toBeGreaterThan(20);
  expect(sent).toBeGreaterThan(50);
});

async function count(table: string, endpoint: string): Promise<number> {
  const [row] = await stage.sql<{ n: number }>(`SELECT count(*)::int AS n FROM onefold.${table} WHERE endpoint = $1`, [
    endpoint,
  ]);
  return row?.n ?? 0;
}
