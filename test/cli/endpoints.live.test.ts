import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import { tenantEndpoints } from '../../src/operations/endpoints/tenant-endpoints.js';
import { egressRules } from '../../src/runtime/egress-rules.js';
import { createSealer } from '../../src/runtime/seal.js';
import { startReceiver } from '../operations/endpoints/support/endpoints-stage.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import type { Ended, RunOptions } from './support/onefold-cli.js';

// Each command is a process of its own, which takes a second or two.
vi.setConfig({ testTimeout: 240_000 });

let stage: CliStage;
let ledger: Ledger;
const firstKey = `k1:${randomBytes(32).toString('base64')}`;
const secondKey = `k2:${randomBytes(32).toString('base64')}`;
beforeAll(async () => {
  stage = await createCliStage();
  const connectionString = stage.env.DATABASE_URL as string;
  ledger = { database: pgDatabase({ connectionString }), schema: schemaName('onefold') };
});
afterAll(async () => {
  await ledger?.database.close();
  await stage?.close();
});

const helps = new Map<string, Promise<string>>();
const helpOf = (command: string): Promise<string> => {
  const known = helps.get(command) ?? stage.run(['endpoints', command, '--help']).then(({ stdout }) => stdout);
  helps.set(command, known);
  return known;
};

/** Runs a command with what its own help names, and nothing else. */
async function endpoints(command: string, args: readonly string[] = [], options: RunOptions = {}): Promise<Ended> {
  const help = await helpOf(command);
  for (const option of args.filter((arg) => /^--[a-z-]+$/.test(arg))) expect(help).toContain(`  ${option}`);
  return stage.run(['endpoints', command, ...args], {
    ...options,
    env: { ONEFOLD_SECRETS_KEYS: firstKey, ONEFOLD_EGRESS_ALLOW: '127.0.0.1', ...options.env },
  });
}

/** What a command printed as JSON, having succeeded. */
async function json(command: string, args: readonly string[], options?: RunOptions): Promise<any> {
  const { code, stdout, stderr } = await endpoints(command, [...args, '--json'], options);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return JSON.parse(stdout);
}

/** Adds an endpoint without a process of its own. */
async function add(url = 'https://93.184.215.14/hooks', tenant = ''): Promise<string> {
  const deps = {
    ledger,
    sealer: createSealer(firstKey),
    egressRules: egressRules(['127.0.0.1'], 'test'),
    log: pino({ enabled: false }),
  };
  return (await tenantEndpoints(deps, tenant).create({ url, types: ['order.*'] })).endpoint.id;
}

test.concurrent('the help names every command with a sentence, and each its arguments and options', async () => {
  const { code, stdout } = await stage.run(['endpoints', '--help']);
  expect(code).toBe(0);
  const commands = [
    'add',
    'list',
    'show',
    'update',
    'pause',
    'resume',
    'disable',
    'enable',
    'rotate-secret',
    'remove',
    'test',
    'rekey',
  ];
  for (const command of commands) {
    expect(stdout).toMatch(new RegExp(`^ {2}${command} .*[A-Z].{15}`, 'm'));
    const help = await helpOf(command);
    expect(help).toMatch(new RegExp(`^Usage: onefold endpoints ${command} `));
    for (const option of ['--json', '--config', ...(command === 'rekey' ? [] : ['--tenant'])])
      expect(help).toContain(option);
  }
});

test.concurrent('an endpoint is added, tried, looked at, changed and rotated, and its secret is shown when it is made', async () => {
  const receiver = await startReceiver(200);
  const verifies = (secret: string): boolean => {
    const { headers, body } = receiver.requests.at(-1) as (typeof receiver.requests)[number];
    try {
      return Boolean(new Webhook(secret).verify(body.toString(), headers as Record<string, string>));
    } catch {
      return false;
    }
  };
  const secretIn = (text: string) => /^whsec_\S+$/m.exec(text)?.[0] as string;

  const added = await endpoints('add', [
    receiver.url,
    '--types',
    'order.*, invoice.paid',
    '--description',
    'the shop',
    '--header',
    'X-Shop: one',
    '--header',
    'Authorization: Bearer two: three',
    '--rate-limit',
    '2.5',
    '--schedule',
    '5s, 1 minute',
    '--by',
    'ann',
  ]);
  expect(added.code).toBe(0);
  const id = /^ep_\w{24}/.exec(added.stdout)?.[0] as string;
  const secret = secretIn(added.stdout);
  expect(added.stdout).toContain(`${id} enabled order.*,invoice.paid ${receiver.url} (the shop)`);
  expect(added.stdout).toContain('shown this once');
  expect(added.stderr).toContain('"endpoint.created"');
  expect(added.stderr).toContain('"by":"ann"');
  expect(added.stderr).not.toContain(secret);

  const tried = await endpoints('test', [id]);
  expect(tried.code).toBe(0);
  expect(tried.stdout).toMatch(/^200 in \d+ ms: delivered\n {2}webhook-id test_\S+\n$/);
  expect(receiver.requests[0]?.headers).toMatchObject({ 'x-shop': 'one', authorization: 'Bearer two: three' });
  expect(verifies(secret)).toBe(true);

  const shown = await endpoints('show', [id]);
  expect(shown.code).toBe(0);
  for (const text of [
    'enabled since',
    'authorization, x-shop',
    '2.5 requests a second',
    'after 5 seconds, 1 minute',
    '0 open',
    'none yet',
  ]) {
    expect(shown.stdout).toContain(text);
  }
  for (const hidden of [secret, 'Bearer']) expect(shown.stdout + shown.stderr).not.toContain(hidden);

  const updated = await json('update', [
    id,
    '--types',
    '*',
    '--default',
    'schedule,rate-limit',
    '--timeout',
    '3 seconds',
  ]);
  expect(updated).toMatchObject({ id, types: ['*'], timeoutMs: 3_000, description: 'the shop', version: 2 });
  expect(updated).not.toHaveProperty('rateLimit');
  expect(updated).not.toHaveProperty('pausesMs');

  const rotated = await endpoints('rotate-secret', [id, '--overlap', '1 hour']);
  expect(rotated.stdout).toMatch(/the former secrets sign beside it until \d{4}-/);
  await endpoints('test', [id]);
  expect([verifies(secret), verifies(secretIn(rotated.stdout))]).toEqual([true, true]);
  const revoked = await endpoints('rotate-secret', [id, '--overlap', '0', '--reason', 'it leaked']);
  expect(revoked.stdout).toContain('the former secrets sign no more');
  expect(revoked.stderr).toContain('"reason":"it leaked"');
  await endpoints('test', [id]);
  expect([verifies(secret), verifies(secretIn(revoked.stdout))]).toEqual([false, true]);
  await receiver.close();
});

test.concurrent('secret and headers come from a file or standard input, and stand in no list of processes', async () => {
  const receiver = await startReceiver(200);
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const file = join(stage.folder, 'headers.json');
  await writeFile(file, '{"authorization":"Bearer abc"}');
  const args = [receiver.url, '--types', '*', '--headers-file', file, '--secret-file', '-'];
  const { endpoint } = await json('add', args, { stdin: `${secret}\n` });
  expect(endpoint.headerNames).toEqual(['authorization']);
  await endpoints('test', [endpoint.id]);
  const { headers, body } = receiver.requests[0] as (typeof receiver.requests)[number];
  expect(headers.authorization).toBe('Bearer abc');
  expect(new Webhook(secret).verify(body.toString(), headers as Record<string, string>)).toBeTruthy();
  const broken = await endpoints('update', [endpoint.id, '--headers-file', '-'], {
    stdin: '{"authorization": Bearer abc',
  });
  expect(broken.code).toBe(1);
  expect(broken.stderr).toContain('endpoint_invalid');
  expect(broken.stderr).not.toContain('Bearer abc');
  await receiver.close();
});

test.concurrent('a list is one line each, page by page, by state, by who would get a type, and of one tenant alone', async () => {
  const tenant = ['--tenant', 'list'];
  const ids = [await add(undefined, 'list'), await add(undefined, 'list'), await add(undefined, 'list')];
  await endpoints('pause', [ids[0] as string, ...tenant]);
  const first = await endpoints('list', [...tenant, '--limit', '2']);
  expect(first.stdout.split('\n').filter((line) => line !== '')).toHaveLength(2);
  const cursor = /--cursor (\S+)/.exec(first.stderr)?.[1] as string;
  const second = await endpoints('list', [...tenant, '--limit', '2', '--cursor', cursor]);
  expect(second.stderr).not.toContain('--cursor');
  const all = (first.stdout + second.stdout).match(/^ep_\w+/gm);
  expect(all?.sort()).toEqual([...ids].sort());
  expect((await json('list', [...tenant, '--state', 'paused'])).items.map(({ id }: { id: string }) => id)).toEqual([
    ids[0],
  ]);
  expect((await json('list', [...tenant, '--type', 'order.paid'])).items).toHaveLength(3);
  expect((await json('list', [...tenant, '--type', 'invoice.paid'])).items).toEqual([]);
  expect((await json('list', ['--tenant', 'nobody'])).items).toEqual([]);
  expect(await endpoints('show', [ids[0] as string])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('endpoint_unknown'),
  });
});

test.concurrent('pause, disable, enable and remove say where the endpoint stands, and who did it is logged', async () => {
  const id = await add();
  const said = async (command: string, ...args: string[]) => {
    const { code, stdout } = await endpoints(command, [id, '--reason', 'a fire drill', ...args]);
    return [code, stdout.replace(/since \S+/, 'since T')];
  };
  expect(await said('pause')).toEqual([0, `${id}: paused since T (by_owner: a fire drill)\n`]);
  expect(await said('disable', '--yes')).toEqual([0, `${id}: disabled since T (by_owner: a fire drill)\n`]);
  expect((await endpoints('resume', [id])).stderr).toContain('endpoint_disabled');
  expect(await said('enable')).toEqual([0, `${id}: enabled since T\n`]);
  const removed = await json('remove', [id, '--yes', '--by', 'bob']);
  expect(removed).toMatchObject({ id, state: 'removed' });
  expect((await endpoints('enable', [id])).stderr).toContain('endpoint_removed');
});

test.concurrent.each(['disable', 'remove'])(
  '%s asks, and where nobody can be asked changes nothing',
  async (command) => {
    const id = await add();
    const { code, stdout, stderr } = await endpoints(command, [id]);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain('confirmation_missing');
    expect(stderr).toContain('--yes');
    expect((await json('show', [id])).endpoint).toMatchObject({ state: 'enabled', version: 1 });
  },
);

test.concurrent('what was not delivered ends with 1, and what the receiver says cannot move the cursor of a terminal', async () => {
  const receiver = await startReceiver(500, 'no\u001b[2J\r\nthe database is away');
  const id = await add(receiver.url);
  const { code, stdout } = await endpoints('test', [id]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^500 in \d+ ms: retry \(http_500: /);
  expect(stdout).toContain('it answered: no [2J the database is away');
  expect(await json('test', [id]).catch(() => undefined)).toBeUndefined();
  await receiver.close();
});

test.concurrent('settings go back to their defaults, and the id may stand behind them', async () => {
  const id = await add();
  await endpoints('update', ['--schedule', '5s', '--timeout', '3s', id]);
  const updated = await json('update', ['--default', 'schedule', '--default', 'timeout', id]);
  expect(updated).toMatchObject({ id, version: 3 });
  expect(updated).not.toHaveProperty('pausesMs');
  expect(updated).not.toHaveProperty('timeoutMs');
});

test.concurrent.each([
  ['a secret file', ['rotate-secret', 'ep_1', '--secret-file', 'nowhere']],
  ['a file of headers', ['update', 'ep_1', '--headers-file', 'nowhere']],
] as const)('%s that is not there is config_invalid', async (_what, [command, ...args]) => {
  const { code, stdout, stderr } = await endpoints(command, args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('config_invalid: nowhere cannot be read: ENOENT');
  expect(stderr).not.toMatch(/\n\s+at /);
});

test.concurrent.each([
  ['a private URL', ['http://10.0.0.1/', '--types', '*'], 'destination_refused'],
  ['a header of the sender', ['https://93.184.215.14/', '--types', '*', '--header', 'host: x'], "'host' cannot be set"],
])('%s is refused with a code and a sentence', async (_what, args, message) => {
  const { code, stdout, stderr } = await endpoints('add', args);
  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/\n\s+at /);
});

test.concurrent('without keys the answer names the variable', async () => {
  const { code, stderr } = await endpoints('add', ['https://93.184.215.14/', '--types', '*'], {
    env: { ONEFOLD_SECRETS_KEYS: undefined },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('config_missing: ONEFOLD_SECRETS_KEYS is not set');
});

test.concurrent.each([
  ['no command', [], 'Usage: onefold endpoints'],
  ['an unknown command', ['ad'], "unknown command 'ad'"],
  ['no URL', ['add', '--types', '*'], "missing required argument 'url'"],
  ['no types', ['add', 'https://93.184.215.14/'], "required option '--types"],
  ['an unknown option', ['list', '--states', 'paused'], "unknown option '--states'"],
  ['a state that is none', ['list', '--state', 'off'], 'Allowed choices are'],
  ['a header without a colon', ['add', 'u', '--types', '*', '--header', 'x'], "expected 'name: value'"],
  ['a number that is none', ['update', 'ep_1', '--concurrency', 'many'], 'expected a number'],
  ['a default that is none', ['update', 'ep_1', '--default', 'url'], 'Allowed choices are'],
  ['no default', ['update', 'ep_1', '--default', ','], 'Allowed choices are'],
  ['an overlap without a unit', ['rotate-secret', 'ep_1', '--overlap', '24'], 'with its unit, such as 24s, 24m or 24h'],
  ['pauses without units', ['update', 'ep_1', '--schedule', '5,30,300'], 'with its unit, such as 5s, 5m or 5h'],
  ['a schedule of nothing', ['update', 'ep_1', '--schedule', ''], 'or none for a single attempt'],
  ['an elapsed time without a unit', ['update', 'ep_1', '--maximum-elapsed', '5'], 'with its unit'],
  ['a timeout without a unit', ['update', 'ep_1', '--timeout', '15'], 'with its unit'],
])('%s is wrong usage: exit code 2, and the help', async (_what, args, message) => {
  const { code, stdout, stderr } = await stage.run(['endpoints', ...args]);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain(message);
  expect(stderr).toContain('Usage: onefold endpoints');
});

// Alone, and last: it takes their secrets from the others.
test('secrets are sealed anew with the first key, and those that no key opens are named', async () => {
  const receiver = await startReceiver(200);
  const id = await add(receiver.url);
  const both = { env: { ONEFOLD_SECRETS_KEYS: `${secondKey},${firstKey}` } };
  const { code, stdout } = await endpoints('rekey', [], both);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\d+ sealed anew with 'k2'\n$/);
  const second = { env: { ONEFOLD_SECRETS_KEYS: secondKey } };
  expect((await endpoints('test', [id], second)).code).toBe(0);
  const lost = await endpoints('rekey', [], { env: { ONEFOLD_SECRETS_KEYS: firstKey } });
  expect(lost.code).toBe(1);
  expect(lost.stdout).toContain(`secret of ${id}: sealed with 'k2'`);
  await json('rekey', [], { env: { ONEFOLD_SECRETS_KEYS: `${firstKey},${secondKey}` } });
  await receiver.close();
});
