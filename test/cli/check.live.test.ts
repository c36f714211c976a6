import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
beforeAll(async () => {
  stage = await createCliStage(fileURLToPath(new URL('./fixtures/check.ts', import.meta.url)));
});
afterAll(() => stage?.close());

/** A configuration that publishes. */
const publishing = { ONEFOLD_CONFIG: fileURLToPath(new URL('./fixtures/check-publishing.ts', import.meta.url)) };
const keys = `k1:${Buffer.alloc(32, 1).toString('base64')}`;

const long = { LONG_BUDGET: '1' };
const nowhere = { TEMPORAL_ADDRESS: '127.0.0.1:1', DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/x' };

test.concurrent('a configuration without problems is described, and the exit code is 0 beside warnings', async () => {
  const { code, stdout, stderr } = await stage.run(['check']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Sources\n/);
  for (const text of [
    /event identity +the header webhook-id or svix-id, signed → event\/\/shop\/<event id>/,
    /business identity +ship \+ .*`shipment:\$\{event\.data\.order\}`\n +also under its former name ship/,
    /nothing needs a publication identity/,
    /budget +gives up after 23 hours, by then about 14 attempts/,
    /attempt +at most 10 minutes, its lease 15 seconds, renewed every 5 seconds/,
    /settled: with the outcome, or 202 after 8 seconds; the provider waits for 15 seconds/,
    /supersede +an older state that arrives late/,
    /if this was recorded and then crashed, what finishes the work\?/,
    /after a crash +· Claim, write and completion are one transaction/,
    /retention +24 hours/,
    /ledger +onefold\n/,
    /warning · retention_below_redelivery · source 'shop'/,
  ]) {
    expect(stdout).toMatch(text);
  }
  expect(stdout).toMatch(/\n\n2 sources and 4 effects checked: 0 problems, 2 warnings\n$/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
});

test.concurrent('a problem is exit code 1, with its id, its place and what to do', async () => {
  const { code, stdout, stderr } = await stage.run(['check', '--offline'], { env: long });
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toMatch(/\nproblem · key_outlived · effect 'charge-card'\n {2}its attempts .*\n(.*\n)*? {2}→ shorten/);
  expect(stdout).toMatch(/, servers left out: 1 problem, 0 warnings\n$/);
});

test.concurrent('--json is one stable object, and nothing else', async () => {
  const { code, stdout, stderr } = await stage.run(['check', '--json'], { env: long });
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  const report = JSON.parse(stdout);
  expect(Object.keys(report)).toEqual([
    'version',
    'ok',
    'sources',
    'effects',
    'publications',
    'namespace',
    'ledger',
    'leftOut',
    'findings',
    'problems',
    'warnings',
    'notes',
  ]);
  expect(report).toMatchObject({
    version: 1,
    ok: false,
    leftOut: [],
    problems: 1,
    namespace: { namespace: 'default' },
    ledger: { schema: 'onefold' },
  });
  expect(report.findings[0]).toEqual({
    id: 'key_outlived',
    level: 'problem',
    place: "effect 'charge-card'",
    message: expect.any(String),
    remedy: expect.any(String),
  });
});

test.concurrent('servers that cannot be reached are problems that name --offline', async () => {
  const { code, stdout } = await stage.run(['check'], { env: nowhere });
  expect(code).toBe(1);
  expect(stdout).toMatch(/problem · temporal_unavailable · Temporal\n.*\n(.*\n)*? {2}→ .*--offline/);
  expect(stdout).toMatch(/problem · ledger_unavailable · PostgreSQL\n.*\n(.*\n)*? {2}→ .*--offline/);
  expect(stdout).not.toContain('hidden');
});

test.concurrent('--offline needs neither server nor their settings, and says what was left out', async () => {
  const { code, stdout } = await stage.run(['check', '--offline'], {
    env: { ...nowhere, DATABASE_URL: undefined },
  });
  expect(code).toBe(0);
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    "not checked the namespace's retention, the search attributes, the ledger's migrations, effects that only the ledger knows",
  );
});

test.concurrent('without DATABASE_URL the ledger is a problem', async () => {
  const { code, stdout } = await stage.run(['check', '--json'], { env: { DATABASE_URL: undefined } });
  expect(code).toBe(1);
  expect(JSON.parse(stdout).findings[0]).toMatchObject({ id: 'config_missing', place: 'PostgreSQL' });
});

test.concurrent('a ledger that was never migrated is a problem, and onefold migrate mends it', async () => {
  const env = { ONEFOLD_SCHEMA: 'checked_first' };
  const before = await stage.run(['check', '--json'], { env });
  expect(before.code).toBe(1);
  expect(JSON.parse(before.stdout).findings[0]).toMatchObject({ id: 'migration_missing' });
  expect((await stage.run(['migrate'], { env })).code).toBe(0);
  expect((await stage.run(['check'], { env })).code).toBe(0);
});

test.concurrent('--grace is judged against the leases', async () => {
  const { code, stdout } = await stage.run(['check', '--offline', '--grace', '1 minute']);
  expect(code).toBe(1);
  expect(stdout).toContain("lease_within_grace · effect 'mail'");
});

test.concurrent.each([
  ['a configuration that is not there', ['check', '--config', 'nothing.ts'], 1, /^onefold: config_missing: /],
  ['a grace that is none', ['check', '--grace', 'soon'], 2, /a duration such as/],
  ['an argument that nobody takes', ['check', 'shop'], 2, /too many arguments/],
])('%s is refused', async (_what, args, expected, message) => {
  const { code, stdout, stderr } = await stage.run(args);
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
  expect(stderr).toMatch(message);
});

test.concurrent('the help says what the exit codes mean', async () => {
  expect((await stage.run(['check', '--help'])).stdout).toMatch(/Exit codes: 0 no problem.*; 1 a problem.*; 2 /s);
});

test.concurrent('the output that the documentation shows is what is printed', async () => {
  const page = readFileSync(new URL('../../docs/check.md', import.meta.url), 'utf8');
  const shown = [...page.matchAll(/```text\n([\s\S]*?)```/g)].map(([, text]) => text?.trim().split(/\n\n+/) ?? []);
  expect(shown.map(({ length }) => length)).toEqual([4, 1]);
  const printed = await Promise.all([long, publishing].map((env) => stage.run(['check', '--offline'], { env })));
  printed.forEach(({ stdout }, index) => {
    for (const paragraph of shown[index] ?? []) expect(stdout).toContain(paragraph);
  });
});

test.concurrent('a configuration that publishes is described, with what its ledger has', async () => {
  const { code, stdout } = await stage.run(['check'], { env: { ...publishing, ONEFOLD_SECRETS_KEYS: keys } });
  expect(code).toBe(0);
  expect(stdout).toMatch(/endpoints +0\n/);
  expect(stdout).toMatch(/note · type_without_endpoints · publications\n {2}there is no endpoint yet/);
  expect(stdout).toMatch(/ and 2 published types checked: 0 problems, 0 warnings, 1 note\n$/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
});

test.concurrent('what only development needs is a warning under NODE_ENV=production', async () => {
  const env = { ...publishing, ONEFOLD_EGRESS_ALLOW: 'localhost' };
  const ids = async (more: Record<string, string>) => {
    const { stdout } = await stage.run(['check', '--offline', '--json'], { env: { ...env, ...more } });
    return JSON.parse(stdout).findings.map(({ id }: { id: string }) => id);
  };
  expect(await ids({ NODE_ENV: 'production' })).toEqual(['egress_allowed_in_production']);
  expect(await ids({ NODE_ENV: 'development' })).toEqual([]);
});

test.concurrent('malformed keys are a problem without a server, and exit code 1', async () => {
  const env = { ...publishing, ONEFOLD_SECRETS_KEYS: 'hidden', CUT_SHORT: '5 hours' };
  const { code, stdout } = await stage.run(['check', '--offline'], { env });
  expect(code).toBe(1);
  expect(stdout).toContain('problem · secrets_keys_invalid · ONEFOLD_SECRETS_KEYS');
  expect(stdout).toContain("warning · schedule_exceeds_elapsed · publications 'stock.low'");
  expect(stdout).not.toContain('hidden');
});

test.concurrent('a configuration that refuses to be loaded is one finding of the JSON, with exit code 1', async () => {
  const { code, stdout, stderr } = await stage.run(['check', '--offline', '--json'], {
    env: { WITHOUT_RECOVERY: '1' },
  });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    problems: 1,
    findings: [{ id: 'config_invalid', message: expect.stringContaining('recovery: say what finishes the work') }],
  });
  expect(stderr).toMatch(/^onefold: config_invalid: /);
});
