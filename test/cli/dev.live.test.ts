import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { createTestDatabase } from '../setup/database.js';
import { allEnded, askApp, createProject, type DevProcess, type Project, type ReadyLine } from './dev/dev-process.js';

let project: Project;

beforeEach(async () => {
  project = await createProject();
});

afterEach(() => project.close());

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function withTemporal<Result>(address: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const connection = await Connection.connect({ address });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

/** The variables that a terminal gets by reading what the ready line names. */
async function toldTo(line: ReadyLine): Promise<NodeJS.ProcessEnv> {
  const text = await readFile(line.environment, 'utf8');
  return Object.fromEntries([...text.matchAll(/^export (\w+)='(.*)'/gm)].map(([, name, value]) => [name, value]));
}

const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 100 });

/** The app's record is written beside its start, and may come after its word that it is ready. */
async function allPids(dev: DevProcess): Promise<number[]> {
  return vi.waitFor(
    async () => {
      const found = await dev.serverPids();
      expect(found).toHaveLength(3);
      return found;
    },
    { timeout: 30_000, interval: 50 },
  );
}

describe('one run', () => {
  let standing: { readonly project: Project; readonly dev: DevProcess; readonly line: ReadyLine };
  beforeAll(async () => {
    const started = await createProject();
    const dev = started.dev();
    standing = { project: started, dev, line: await dev.ready };
  });
  afterAll(() => standing?.project.close());

  test('the ready line names everything that runs, and all of it answers', async () => {
    const { project, dev, line } = standing;
    expect(line).toEqual({
      ready: true,
      receiver: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/webhooks$/),
      sources: [{ name: 'shop', url: `${line.receiver}/shop` }],
      temporal: { address: expect.stringMatching(/^127\.0\.0\.1:\d+$/), ui: expect.any(String), namespace: 'default' },
      postgres: { url: expect.stringMatching(/^postgres:\/\/developer:\w+@127\.0\.0\.1:\d+\/onefold$/) },
      data: join(project.folder, '.onefold'),
      environment: join(project.folder, '.onefold', 'env'),
      pid: dev.child.pid,
      appPid: (await askApp(line.receiver)).pid,
    });
    expect(await query(line.postgres.url, 'SELECT count(*)::int AS rows FROM onefold.migrations')).toEqual([
      { rows: expect.any(Number) },
    ]);
    expect((await fetch(line.temporal.ui as string)).status).toBe(200);
    await withTemporal(line.temporal.address, async (client) => {
      const known = await client.connection.operatorService.listSearchAttributes({ namespace: 'default' });
      expect(Object.keys(known.customAttributes)).toContain('OnefoldBusinessKey');
    });
    expect(dev.output.stdout.trim().split('\n')).toHaveLength(1);
  });

  test('a second start on the same folder is refused, and names the first', async () => {
    const second = standing.project.dev();
    expect(await second.exitCode).toBe(1);
    expect(second.output.stderr).toContain(`data_folder_busy: process ${standing.dev.child.pid}`);
  });

  test('a save restarts the app, and one that does not load waits for the next save', async () => {
    const { project, dev, line } = standing;
    const { receiver } = line;
    await project.save("export const answer = 'two';");
    await eventually(async () => expect((await askApp(receiver)).answer).toBe('two'));
    await project.save('export const answer = ;');
    await eventually(async () => expect(dev.output.stderr).toContain('ended with exit code 1'));
    expect(dev.output.stderr).toContain('SyntaxError');
    await project.save("export const answer = 'three';");
    await eventually(async () => expect((await askApp(receiver)).answer).toBe('three'));
  });

  test('an app killed with SIGKILL is started again at the same address', async () => {
    const { dev, line } = standing;
    const { receiver } = line;
    const { pid: appPid } = await askApp(receiver);
    process.kill(appPid, 'SIGKILL');
    await eventually(async () => expect((await askApp(receiver)).pid).not.toBe(appPid));
    expect(dev.output.stderr).toContain(`process ${appPid}) was ended from outside by SIGKILL`);
  });
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s drains the app, ends both servers and leaves no process',
  async (signal) => {
    const dev = project.dev();
    await dev.ready;
    const pids = await allPids(dev);
    dev.child.kill(signal);
    expect(await dev.exitCode).toBe(0);
    expect(dev.output.stdout).toContain('app drained');
    await allEnded(pids);
  },
);

test('a second signal ends an app that does not drain', async () => {
  await project.save("export const answer = 'one'; export const ignoresSigterm = true;");
  const dev = project.dev();
  await dev.ready;
  const pids = await dev.serverPids();
  dev.child.kill('SIGINT');
  // Two signals of one key press come closer together than this.
  await new Promise((resolve) => setTimeout(resolve, 700));
  dev.child.kill('SIGINT');
  expect(await dev.exitCode).toBe(130);
  await allEnded(pids);
});

test('after kill -9 nothing is left running, and the next start has the data', async () => {
  const first = project.dev();
  const line = await first.ready;
  await query(line.postgres.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await withTemporal(line.temporal.address, (client) =>
    client.workflow.start('nothing', { workflowId: 'kept', taskQueue: 'nobody-polls' }),
  );
  const pids = await first.serverPids();
  const told = await toldTo(line);
  first.child.kill('SIGKILL');
  await first.exitCode;

  // At once: the servers of the first may still be ending. From a terminal that has read of them, which are not the user's.
  const next = await project.dev({ env: told }).ready;
  expect(next.data).toBe(line.data);
  await allEnded(pids);
  expect(await query(next.postgres.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  await withTemporal(next.temporal.address, async (client) => {
    expect((await client.workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
  });
});

test('a taken port of the receiver is replaced by the next free one, and said so', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const database = await createTestDatabase();
  try {
    const { port } = holder.address() as { port: number };
    // The servers matter to this not, and starting them takes long.
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), DATABASE_URL: database.url };
    const dev = project.dev({ args: ['--port', String(port)], env });
    const { receiver } = await dev.ready;
    expect(new URL(receiver).port).not.toBe(String(port));
    expect(dev.output.stderr).toContain(`port ${port} is taken`);
    dev.child.kill('SIGTERM');
    expect(await dev.exitCode).toBe(0);
  } finally {
    holder.close();
    await database.drop();
  }
});

test('servers that are configured are used, and none is started', async () => {
  const database = await createTestDatabase();
  try {
    const dev = project.dev({ env: { TEMPORAL_ADDRESS: inject('temporalAddress'), DATABASE_URL: database.url } });
    const line = await dev.ready;
    expect(line.temporal).toEqual({ address: inject('temporalAddress'), ui: null, namespace: 'default' });
    expect(line.postgres.url).toContain('developer:***@');
    expect(line.data).toBeNull();
    dev.child.kill('SIGTERM');
    expect(await dev.exitCode).toBe(0);
  } finally {
    await database.drop();
  }
});

describe('with servers of the user', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  /** Runs once, and gives what the app and another terminal were told. */
  async function runOnce(
    args: string[] = [],
  ): Promise<{ app: NodeJS.ProcessEnv; told: NodeJS.ProcessEnv; line: ReadyLine }> {
    await project.save('export const answer = process.env;');
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), DATABASE_URL: database.url, ONEFOLD_SECRETS_KEYS: '' };
    const dev = project.dev({ args, env });
    const line = await dev.ready;
    const app = (await askApp(line.receiver)).answer as unknown as NodeJS.ProcessEnv;
    const told = await toldTo(line);
    dev.child.kill('SIGTERM');
    expect(await dev.exitCode).toBe(0);
    return { app, told, line };
  }

  test('the key is kept in the project, and another terminal is told what the app is', async () => {
    const first = await runOnce();
    const { ONEFOLD_SECRETS_KEYS: key } = first.app;
    expect(key).toMatch(/^dev:.{44}$/);
    expect(first.app.ONEFOLD_EGRESS_ALLOW).toContain('localhost');
    for (const name of ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'ONEFOLD_SECRETS_KEYS', 'ONEFOLD_EGRESS_ALLOW']) {
      expect(first.told[name]).toBe(first.app[name]);
    }
    const folder = join(project.folder, '.onefold');
    expect(first.line.environment).toBe(join(folder, 'env'));
    expect(await readFile(join(folder, '.gitignore'), 'utf8')).toBe('*\n');
    for (const file of ['env', 'secrets-keys']) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    expect((await runOnce()).app.ONEFOLD_SECRETS_KEYS).toBe(key);
  });

  test('an ephemeral start makes no key, which the database would outlive', async () => {
    const { app } = await runOnce(['--ephemeral']);
    expect(app.ONEFOLD_SECRETS_KEYS ?? '').toBe('');
    expect(app.ONEFOLD_EGRESS_ALLOW).toContain('localhost');
  });
});

test('a configured Temporal that does not answer is an error that says what to do', async () => {
  const dev = project.dev({ env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  expect(await dev.exitCode).toBe(1);
  expect(dev.output.stderr).toContain('temporal_unavailable: Temporal at 127.0.0.1:1');
  await allEnded(await dev.serverPids());
});

test('variables for a cluster of the user do not reach an app on the embedded server', async () => {
  await project.save('export const answer = Object.keys(process.env).filter((name) => name.startsWith("TEMPORAL_"));');
  const dev = project.dev({ env: { TEMPORAL_API_KEY: 'secret', TEMPORAL_NAMESPACE: 'theirs' } });
  const { receiver } = await dev.ready;
  const { answer } = await askApp(receiver);
  expect([...answer].sort()).toEqual(['TEMPORAL_ADDRESS', 'TEMPORAL_CONFIG_FILE', 'TEMPORAL_NAMESPACE']);
});

test('ephemeral data are removed at the end', async () => {
  const dev = project.dev({ args: ['--ephemeral'] });
  const { data } = await dev.ready;
  dev.child.kill('SIGINT');
  expect(await dev.exitCode).toBe(0);
  await expect(writeFile(join(data as string, 'x'), '')).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a server that ends by itself ends everything with an error', async () => {
  const dev = project.dev();
  await dev.ready;
  const pids = await allPids(dev);
  // Of app, Temporal and PostgreSQL.
  process.kill(pids[1] as number, 'SIGKILL');
  expect(await dev.exitCode).toBe(1);
  expect(dev.output.stderr).toContain('the Temporal dev server ended without being asked');
  await allEnded(pids);
});
