import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import {
  startTemporalServer,
  type TemporalServer,
  type TemporalServerOptions,
} from '../../../src/runtime/embedded/temporal-server.js';

let folder: string;
const servers: TemporalServer[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-temporal-'));
});

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  await rm(folder, { recursive: true });
});

async function start(options: Partial<TemporalServerOptions> = {}): Promise<TemporalServer> {
  const server = await startTemporalServer({
    executable: inject('temporalExecutable'),
    folder,
    port: 0,
    searchAttributes: {},
    ...options,
  });
  servers.push(server);
  return server;
}

async function withClient<Result>(server: TemporalServer, work: (client: Client) => Promise<Result>): Promise<Result> {
  const connection = await Connection.connect({ address: server.address });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

const startWorkflow = (client: Client) =>
  client.workflow.start('nothing', { workflowId: 'kept', taskQueue: 'nobody-polls' });

test('workflows survive a restart', async () => {
  const first = await start();
  await withClient(first, startWorkflow);
  await first.stop();
  const status = await withClient(await start(), (client) => client.workflow.getHandle('kept').describe());
  expect(status.status.name).toBe('RUNNING');
});

test('workflows survive a server killed with SIGKILL', async () => {
  const first = await start();
  await withClient(first, startWorkflow);
  process.kill(first.pid, 'SIGKILL');
  await first.exited;
  const status = await withClient(await start(), (client) => client.workflow.getHandle('kept').describe());
  expect(status.status.name).toBe('RUNNING');
});

test('a server that still runs on the folder is ended by the next start', async () => {
  const first = await start();
  await withClient(first, startWorkflow);
  const second = await start();
  await first.exited;
  const status = await withClient(second, (client) => client.workflow.getHandle('kept').describe());
  expect(status.status.name).toBe('RUNNING');
});

test('in memory, nothing is kept', async () => {
  const first = await start({ inMemory: true });
  await withClient(first, startWorkflow);
  await first.stop();
  const second = await start({ inMemory: true });
  await expect(withClient(second, (client) => client.workflow.getHandle('kept').describe())).rejects.toBeInstanceOf(
    WorkflowNotFoundError,
  );
});

test('a search attribute that a later version brings is added to existing data', async () => {
  const first = await start({ searchAttributes: { One: 'Keyword' } });
  await first.stop();
  const second = await start({ searchAttributes: { One: 'Keyword', Two: 'KeywordList' } });
  const known = await withClient(second, (client) =>
    client.connection.operatorService.listSearchAttributes({ namespace: 'default' }),
  );
  expect(known.customAttributes).toMatchObject({ One: 2, Two: 7 });
});

test('taken ports are replaced by the next free ones, and the Web UI answers on its own', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = holder.address() as { port: number };
    const server = await start({ port, uiPort: port });
    expect(server.address).not.toBe(`127.0.0.1:${port}`);
    expect((await fetch(server.uiUrl as string)).status).toBe(200);
  } finally {
    holder.close();
  }
});

test('a server that cannot start is reported with the end of its log', async () => {
  const failed = start({ dynamicConfig: ['no.value'] });
  await expect(failed).rejects.toMatchObject({
    code: 'embedded_unavailable',
    message: expect.stringContaining('no.value'),
  });
  expect(await readFile(join(folder, 'temporal.log'), 'utf8')).not.toBe('');
});
