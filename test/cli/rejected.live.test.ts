import { randomBytes, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
const keys = { ONEFOLD_SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}` };
const planted = randomUUID();

beforeAll(async () => {
  stage = await createCliStage(fileURLToPath(new URL('./fixtures/doors.ts', import.meta.url)));
  const { url, stop } = await stage.receiver({ env: keys });
  for (let count = 0; count < 15; count++) {
    const headers = { authorization: `Bearer ${planted}`, 'content-type': 'application/json' };
    await fetch(`${url}/shop`, { method: 'POST', headers, body: `{"number":${count}}` });
  }
  await fetch(`${url}/nobody`, { method: 'POST' });
  await fetch(`${url}/erp`);
  await stop();
});
afterAll(() => stage?.close());

test('count says how many of which source were refused, and why', async () => {
  const { stdout, code } = await stage.run(['rejected', 'count']);
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^ +15 shop signature_missing \(missing_header\), hours \S+Z to \S+Z, 10 sampled$/);
  expect(lines.map((line) => line.trim().split(/[ ,]+/).slice(0, 3))).toEqual(
    expect.arrayContaining([
      ['1', '(unknown)', 'unknown_source'],
      ['1', 'erp', 'method_not_allowed'],
    ]),
  );
  const json = await stage.run(['rejected', 'count', '--source', 'erp', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject([{ source: 'erp', code: 'method_not_allowed', count: 1, sampled: 1 }]);
  const none = await stage.run(['rejected', 'count', '--until', '2020-01-01']);
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'none were refused\n' });
});

test('list goes by filters and pages, show has no secret, and the body is shown on demand alone', async () => {
  const page = await stage.run([
    'rejected',
    'list',
    '--source',
    'shop',
    '--code',
    'signature_missing',
    '--limit',
    '6',
    '--json',
  ]);
  const { items, next } = JSON.parse(page.stdout);
  expect(items).toHaveLength(6);
  const rest = await stage.run(['rejected', 'list', '--source', 'shop', '--limit', '6', '--cursor', next]);
  const lines = rest.stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(4);
  expect(lines[0]).toMatch(
    /^\S+Z #\d+ shop 401 signature_missing \(missing_header\) from 127\.0\.0\.0\/24, body kept$/,
  );

  const id = items[0].id;
  const shown = await stage.run(['rejected', 'show', id]);
  expect(shown.stdout).toContain('authorization (not kept)');
  expect(shown.stdout).toMatch(/body as far as read: 12 bytes, sha256 [0-9a-f]{64}\n {2}kept until .*: add --body\n$/);
  expect(page.stdout + rest.stdout + shown.stdout).not.toContain(planted);

  const body = await stage.run(['rejected', 'show', id, '--body', '--by', 'alice'], { env: keys });
  expect(body.stdout.trimEnd()).toMatch(/^\{"number":\d+\}$/);
  expect(JSON.parse(body.stderr)).toMatchObject({ msg: 'rejected.body_shown', by: 'alice', sample: id });
  const without = await stage.run(['rejected', 'show', id, '--body']);
  expect(without).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('config_missing: ') });
  const unknown = await stage.run(['rejected', 'show', '999999']);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('rejected_unknown: ') });
});

test('filters that are none are refused', async () => {
  expect(await stage.run(['rejected', 'list', '--since', 'yesterday'])).toMatchObject({ code: 2 });
  expect(await stage.run(['rejected', 'list', '--limit', 'many'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('request_invalid: '),
  });
});
