import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type PostgresServer, startPostgresServer } from '../../../src/runtime/embedded/postgres-server.js';
import { processStart } from '../../../src/runtime/embedded/process-start.js';
import { startAndDie, startAsOrdinaryUser } from './start-postgres-elsewhere.js';

let folder: string;
const servers: PostgresServer[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-postgres-'));
  await chmod(folder, 0o711);
});

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  await rm(folder, { recursive: true });
});

async function start(port = 0): Promise<PostgresServer> {
  const server = await startPostgresServer({ folder, port, progress: () => {} });
  servers.push(server);
  return server;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function hasEnded(pid: number): Promise<void> {
  await vi.waitFor(async () => expect(await processStart(pid)).toBeUndefined(), { timeout: 20_000 });
}

test('data survive a restart', async () => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await first.stop();
  const second = await start();
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('a parent killed with SIGKILL takes its server along, and the next start has the data', async () => {
  const { pid } = await startAndDie(folder, { withGuard: true });
  await hasEnded(pid);
  const next = await start();
  expect(await query(next.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('a server left behind is ended by the next start, which has the data', async () => {
  const { pid } = await startAndDie(folder, { withGuard: false });
  expect(await processStart(pid)).toBeDefined();
  const next = await start();
  await hasEnded(pid);
  expect(await query(next.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('a server killed with SIGKILL recovers at the next start', async () => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  process.kill(first.pid, 'SIGKILL');
  await first.exited;
  const second = await start();
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('a lock file whose process id now belongs to somebody else does not keep it from starting', async () => {
  const first = await start();
  await first.stop();
  const record = { pid: process.ppid, start: 'an earlier boot:1' };
  await writeFile(join(folder, 'postgres.process'), JSON.stringify(record));
  await writeFile(join(folder, 'postgres', 'postmaster.pid'), `${process.ppid}\n`);
  await query((await start()).url, 'SELECT 1');
});

test('a taken port is replaced by the next free one', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = holder.address() as { port: number };
    const server = await start(port);
    expect(server.port).not.toBe(port);
    await query(server.url, 'SELECT 1');
  } finally {
    holder.close();
  }
});

test('a connection with a wrong password is refused', async () => {
  const server = await start();
  const url = new URL(server.url);
  url.password = 'guessed';
  await expect(query(url.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
});

test('the password can be read by its owner alone', async () => {
  const server = await start();
  const file = join(folder, 'postgres.password');
  expect(server.url).toContain((await readFile(file, 'utf8')).trim());
  expect((await stat(file)).mode & 0o077).toBe(0);
});

test('a cluster without its password is refused with what to do', async () => {
  const server = await start();
  await server.stop();
  await rm(join(folder, 'postgres.password'));
  await expect(start()).rejects.toMatchObject({
    code: 'embedded_unavailable',
    message: expect.stringContaining('postgres.password'),
  });
});

test('an ordinary user starts it as themselves', async () => {
  expect(await startAsOrdinaryUser()).toEqual({ answer: 42, ownsData: true });
});
