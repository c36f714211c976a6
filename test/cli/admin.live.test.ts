import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import { startOnefold } from './support/onefold-cli.js';

vi.setConfig({ testTimeout: 60_000 });

const token = randomBytes(24).toString('hex');

let stage: CliStage;
beforeAll(async () => {
  stage = await createCliStage(fileURLToPath(new URL('./fixtures/publishing.ts', import.meta.url)), 'SELECT 1');
});
afterAll(() => stage?.close());

test('it listens on loopback, answers with its token, and ends in order', async () => {
  const admin = startOnefold(['admin', '--port', '0'], { env: { ...stage.env, ONEFOLD_ADMIN_TOKEN: token } });
  const { url } = await admin.line('admin.ready');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/v1/endpoints`)).status).toBe(401);
  const answered = await fetch(`${url}/v1/endpoints`, { headers: { authorization: `Bearer ${token}` } });
  expect({ status: answered.status, json: await answered.json() }).toEqual({ status: 200, json: { items: [] } });
  const ended = await admin.stop();
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).not.toContain(token);
});

test.each([
  ['on loopback', []],
  ['on every address', ['--host', '0.0.0.0']],
])('without a token it does not start %s', async (_where, args) => {
  const { code, stderr } = await stage.run(['admin', '--port', '0', ...args]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^onefold: config_missing: ONEFOLD_ADMIN_TOKEN/),
  });
});

test('a token that can be guessed is refused, and not shown', async () => {
  const { code, stderr } = await stage.run(['admin', '--port', '0'], { env: { ONEFOLD_ADMIN_READ_TOKEN: 'letmein' } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^onefold: config_invalid: ONEFOLD_ADMIN_READ_TOKEN/);
  expect(stderr).not.toContain('letmein');
});
