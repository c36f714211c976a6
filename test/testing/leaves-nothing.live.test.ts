import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { forwardsKey } from '../../src/effects/recovery.js';
import { startTestDatabase, startTestKit } from '../../src/testing/index.js';
import { shop } from '../hazards/support/shop.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

const ship = shop.effect('ship', { on: 'order.paid', businessKey: ({ data }) => data.order, commit: async () => {} });
const call = shop.externalEffect('call', {
  on: 'order.paid',
  businessKey: ({ data }) => data.order,
  recovery: forwardsKey({ validFor: '1 day' }),
  perform: async () => null,
});
const options = () => ({
  sources: [shop],
  url: database.url,
  timeSkippingServer: inject('timeSkippingServer'),
});

async function connections(): Promise<number> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const { rowCount } = await client.query(
      'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return rowCount ?? 0;
  } finally {
    await client.end();
  }
}

/** Command lines of the processes that this one has started and that still live. */
function children(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, state, parent] = /\) (\w) (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        if (Number(parent) !== process.pid || state === 'Z') return [];
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch {
        // It ended while it was looked at.
        return [];
      }
    });
}

/** How many timers, sockets and servers keep this process alive. */
function open(): Record<string, number> {
  const counts: Record<string, number> = { Timeout: 0, TCPSocketWrap: 0, TCPServerWrap: 0 };
  for (const kind of process.getActiveResourcesInfo()) if (kind in counts) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Kinds of which there are more than before; the test runner's own come and go. */
function moreThan(before: Record<string, number>): string[] {
  return Object.entries(open()).flatMap(([kind, count]) => (count > (before[kind] ?? 0) ? [`${kind} ${count}`] : []));
}

test('a kit that is stopped leaves no connection, process, timer or socket, however often it is started', async () => {
  const [before, childrenBefore] = [open(), children()];
  for (let round = 1; round <= 2; round++) {
    const kit = await startTestKit({ ...options(), effects: [ship] });
    const event = kit.event(shop, { type: 'order.paid', data: { order: randomUUID() } });
    await event.deliver();
    expect(await event.outcome()).toMatchObject({ outcome: 'done' });
    await kit.forgetHistories();
    await kit.stop();
    await kit.stop();
  }
  await expect.poll(connections).toBe(0);
  await expect.poll(children, { timeout: 20_000 }).toEqual(childrenBefore);
  await expect.poll(() => moreThan(before), { timeout: 20_000 }).toEqual([]);
});

test('a kit that cannot start ends what it had started', async () => {
  const before = children();
  const failing = startTestKit({ ...options(), effects: [ship], timeSkippingServer: '/no/such/server' });
  await expect(failing).rejects.toThrow(/server at \/no\/such\/server does not start/);
  await expect(startTestKit({ ...options(), effects: [ship, ship] })).rejects.toThrow(/two effects are/);
  await expect(startTestKit({ ...options(), effects: [ship], setup: 'CREATE nonsense' })).rejects.toThrow(
    /syntax error/,
  );
  await expect.poll(connections).toBe(0);
  await expect.poll(children, { timeout: 20_000 }).toEqual(before);
});

test('a crash that was asked for and never happened fails the kit when it stops', async () => {
  const kit = await startTestKit({ ...options(), effects: [call] });
  kit.crash(call, { at: 'after_call' });
  await expect(kit.stop()).rejects.toThrow(/a crash was asked for and never happened: call after_call/);
  await expect.poll(connections).toBe(0);
});

test('a database of its own ends with its data', async () => {
  const own = await startTestDatabase({
    progress: () => {},
    setup: async (url) => void expect(url).toMatch(/^postgres:/),
  });
  expect((await own.db.query('SELECT count(*)::int AS events FROM onefold.events')).rows).toEqual([{ events: 0 }]);
  const { rows } = await own.db.query<{ folder: string }>("SELECT current_setting('data_directory') AS folder");
  await own.stop();
  expect(existsSync(rows[0]?.folder ?? '/')).toBe(false);
  await expect(startTestDatabase({ databaseUrl: own.url } as never)).rejects.toThrow(/unknown option 'databaseUrl'/);
});
