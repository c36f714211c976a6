import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { createTestDatabase } from '../setup/database.js';

/** Longer than the server needs for what it says next, so that both arrive as one piece. */
const heldMs = 100;

let created: Awaited<ReturnType<typeof createTestDatabase>>;
let proxy: Server;
let proxied: string;
/** From now on nothing gets through, and nobody is told. */
let swallowing = false;

/** A network that delivers late: what PostgreSQL says within a tenth of a second arrives together. */
beforeAll(async () => {
  created = await createTestDatabase();
  const target = new URL(created.url);
  proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname);
    client.pipe(server);
    holdBack(server, client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const url = new URL(created.url);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
  proxied = url.href;
});
afterAll(async () => {
  proxy.close();
  await created.drop();
});

function holdBack(from: Socket, to: Socket): void {
  let held: Buffer[] = [];
  const deliver = (): void => {
    const all = Buffer.concat(held);
    held = [];
    if (all.length > 0 && !to.destroyed && !swallowing) to.write(all);
  };
  from.on('data', (data) => {
    if (held.length === 0) setTimeout(deliver, heldMs);
    held.push(data);
  });
  from.on('end', () => setTimeout(() => to.end(), heldMs + 10));
  for (const socket of [from, to]) socket.on('error', () => {});
}

test('an answer and the end of its connection that arrive together do not end the process', async () => {
  const uncaught: Error[] = [];
  const listener = (error: Error): void => void uncaught.push(error);
  process.on('uncaughtException', listener);
  const database = pgDatabase({ connectionString: proxied });
  try {
    // PostgreSQL answers this, and ends the session a millisecond later.
    await database.query("SELECT set_config('idle_session_timeout', '1', false)");
    await new Promise((resolve) => setTimeout(resolve, 3 * heldMs));
    expect(uncaught).toEqual([]);
    expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  } finally {
    process.off('uncaughtException', listener);
    await database.close();
  }
});

test('a query over a connection that leads nowhere is given up, and its connection is not used again', async () => {
  const database = pgDatabase({ connectionString: proxied, max: 1, queryTimeoutMs: 1000 });
  try {
    await database.query('SELECT 1');
    swallowing = true;
    const began = Date.now();
    await expect(database.query('SELECT $1::int AS one', [1])).rejects.toMatchObject({ code: 'ledger_unavailable' });
    expect(Date.now() - began).toBeLessThan(2000);
    swallowing = false;
    expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  } finally {
    swallowing = false;
    await database.close();
  }
});
