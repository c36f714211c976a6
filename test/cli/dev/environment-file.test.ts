import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { forgetOwnServers } from '../../../src/cli/dev/forget-own-servers.js';
import { writeEnvironmentFile } from '../../../src/cli/dev/write-environment-file.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-env-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The environment of a shell that has read the file. */
async function sourced(file: string, env: NodeJS.ProcessEnv = {}): Promise<NodeJS.ProcessEnv> {
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', '. "$0" && env -0', file], { env });
  return Object.fromEntries(
    stdout
      .split('\0')
      .map((line) => line.split(/=([\s\S]*)/, 2) as [string, string])
      .filter(([name]) => /^(ONEFOLD|TEMPORAL|DATABASE)_/.test(name)),
  );
}

const servers = {
  DATABASE_URL: "postgres://developer:p'w@127.0.0.1:55432/onefold",
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
  TEMPORAL_NAMESPACE: 'default',
  TEMPORAL_CONFIG_FILE: '/project/.onefold/temporal.toml',
};

test('another terminal gets the task queue and every TEMPORAL_* of the app, and nobody else may read them', async () => {
  const given = {
    ONEFOLD_TASK_QUEUE: 'shop',
    TEMPORAL_ADDRESS: 'cloud:7233',
    TEMPORAL_API_KEY: 'key',
    TEMPORAL_TLS_CLIENT_CERT_DATA: 'line one\nline two',
  };
  const app = { ...given, DATABASE_URL: servers.DATABASE_URL, ONEFOLD_CONFIG: '/project/onefold.ts', PATH: '/bin' };
  const file = await writeEnvironmentFile(folder, app, given);
  const { PATH: _, ...shared } = app;
  expect(await sourced(file)).toEqual(shared);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("a cluster's variables that are kept from the app are taken from the other terminal too", async () => {
  const given = { TEMPORAL_API_KEY: 'theirs' };
  const file = await writeEnvironmentFile(folder, { ...servers, TEMPORAL_API_KEY: undefined }, given);
  expect(await sourced(file, given)).toEqual(servers);
});

test('what an earlier start has made is not taken for servers of the user', async () => {
  const environment = await sourced(await writeEnvironmentFile(folder, { ...servers, ONEFOLD_SCHEMA: 's' }, {}));
  await forgetOwnServers(folder, environment);
  expect(environment).toEqual({ ONEFOLD_SCHEMA: 's' });
});

test('servers that the user has set stay, also after an earlier start has passed them on', async () => {
  const theirs = {
    DATABASE_URL: 'postgres://app@db/app',
    TEMPORAL_ADDRESS: 'cloud:7233',
    TEMPORAL_NAMESPACE: 'default',
  };
  const environment = await sourced(await writeEnvironmentFile(folder, theirs, theirs));
  await forgetOwnServers(folder, environment);
  expect(environment).toEqual(theirs);
});

test('another address, and with it a namespace of the same name, is the user’s', async () => {
  await writeEnvironmentFile(folder, servers, {});
  const environment: NodeJS.ProcessEnv = { ...servers, TEMPORAL_ADDRESS: 'cloud:7233' };
  await forgetOwnServers(folder, environment);
  const { DATABASE_URL: _, ...rest } = servers;
  expect(environment).toEqual({ ...rest, TEMPORAL_ADDRESS: 'cloud:7233' });
});

test('before the first start there is nothing to forget', async () => {
  const environment: NodeJS.ProcessEnv = { ...servers };
  await forgetOwnServers(join(folder, 'none'), environment);
  expect(environment).toEqual(servers);
});
