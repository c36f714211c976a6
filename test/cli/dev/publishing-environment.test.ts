import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { publishingEnvironment } from '../../../src/cli/dev/publishing-environment.js';
import { writeEnvironmentFile } from '../../../src/cli/dev/write-environment-file.js';

async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'onefold-dev-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

test('this machine may be sent to, by tenants too, and other terminals are told so', async () => {
  const folder = await dataFolder();
  const environment = await publishingEnvironment(folder);
  expect(environment).toMatchObject({
    ONEFOLD_EGRESS_ALLOW: 'localhost,127.0.0.0/8,::1',
    ONEFOLD_EGRESS_ALLOW_TENANTS: 'true',
  });
  const file = await readFile(await writeEnvironmentFile(folder, environment), 'utf8');
  expect(file).toContain("export ONEFOLD_EGRESS_ALLOW='localhost,127.0.0.0/8,::1'");
  expect(file).toContain("export ONEFOLD_EGRESS_ALLOW_TENANTS='true'");
});

test('what is set already stays', async () => {
  const folder = await dataFolder();
  vi.stubEnv('ONEFOLD_EGRESS_ALLOW', '10.0.0.0/8');
  vi.stubEnv('ONEFOLD_EGRESS_ALLOW_TENANTS', 'no');
  expect(await publishingEnvironment(folder)).toMatchObject({
    ONEFOLD_EGRESS_ALLOW: '10.0.0.0/8',
    ONEFOLD_EGRESS_ALLOW_TENANTS: 'no',
  });
});
