import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { until } from '../hazards/support/until.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../publisher/support/scripted-receiver.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import type { Ended } from './support/onefold-cli.js';

// Each command is a process of its own, which takes a second or two.
vi.setConfig({ testTimeout: 240_000 });

const env = {
  ONEFOLD_SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  ONEFOLD_EGRESS_ALLOW: '127.0.0.1',
};

let stage: CliStage;
let receiver: ScriptedReceiver;
let endpoint: string;
beforeAll(async () => {
  stage = await createCliStage(fileURLToPath(new URL('./fixtures/publishing.ts', import.meta.url)), 'SELECT 1');
  receiver = await startScriptedReceiver();
  await stage.worker([], { env });
  const { stdout } = await run('endpoints', 'add', receiver.url, '--types', 'order.*', '--schedule', 'none', '--json');
  endpoint = JSON.parse(stdout).endpoint.id;
});
afterAll(async () => {
  await receiver?.close();
  await stage?.close();
});

const run = (...args: string[]): Promise<Ended> => stage.run(args, { env });

const stateOf = async (publication: string) => {
  const [row] = await stage.sql('SELECT state FROM onefold.publication_deliveries WHERE publication = $1', [
    publication,
  ]);
  return row?.state;
};

/** A message that the endpoint rejected; it takes the next one. */
async function rejected(): Promise<string> {
  const publication = `order:${randomUUID()}:v1`;
  const file = join(stage.folder, `${randomUUID()}.json`);
  await writeFile(file, JSON.stringify({ publication, type: 'order.confirmed', data: { order: '42' } }));
  receiver.answer(() => 404);
  expect((await run('publish', file)).code).toBe(0);
  await until('it is dead-lettered', async () => (await stateOf(publication)) === 'dead_lettered');
  receiver.answer(() => 200);
  return publication;
}

test('list shows it, show tells its story, replay sends it again, and repeating the command sends no more', async () => {
  const publication = await rejected();
  const list = await run('deliveries', 'list', '--publication', publication);
  expect(list).toMatchObject({ code: 0, stderr: '' });
  expect(list.stdout).toMatch(/Z dead_lettered order:\S+ → ep_\w+ \(1 attempt, last http_404\)\n$/);
  const page = await run('deliveries', 'list', '--state', 'dead_lettered', '--since', '1 hour', '--json');
  expect(JSON.parse(page.stdout).items).toContainEqual(expect.objectContaining({ publication, endpoint }));
  const shown = await run('deliveries', 'show', publication, endpoint);
  expect(shown.stdout).toContain('#1 rejected, HTTP 404');
  expect(shown.stdout).toContain('http_404:');

  const replay = (...args: string[]) =>
    run('replay', '--publication', publication, '--endpoint', endpoint, '--reason', 'mended', ...args);
  const dry = await replay('--dry-run');
  expect(dry.stdout).toMatch(/: dead_lettered after 1 attempt, sent again as msg_\w+\n$/);
  const unasked = await replay();
  expect(unasked).toMatchObject({ code: 1, stdout: '' });
  expect(unasked.stderr).toContain('nobody is there to ask');
  const sent = await replay('--yes', '--act', `r-${publication}`, '--by', 'bob');
  expect(sent).toMatchObject({ code: 0 });
  expect(sent.stdout).toMatch(/: sent again as run \S+ \(act r-order:\S+\)\n$/);
  expect(JSON.parse(sent.stderr)).toMatchObject({ msg: 'delivery.replayed', by: 'bob', outcome: 'started' });
  await until('it is delivered', async () => (await stateOf(publication)) === 'delivered');
  expect((await replay('--yes', '--act', `r-${publication}`)).stdout).toBe(sent.stdout);
  const json = await run('deliveries', 'show', publication, endpoint, '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({ state: 'delivered', attempts: 2, acts: [{ by: 'bob' }] });
});

test('a publication is replayed without naming its endpoints, and one without dead letters has nothing to do', async () => {
  const publication = await rejected();
  const replay = () => run('replay', '--publication', publication, '--reason', 'r', '--yes');
  expect((await replay()).stdout).toMatch(/: sent again as run/);
  await until('it is delivered', async () => (await stateOf(publication)) === 'delivered');
  expect(await replay()).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to do') });
});

test('recover counts first, then sends everything again', async () => {
  const missed = [await rejected(), await rejected()];
  const recover = (...args: string[]) => run('endpoints', 'recover', endpoint, '--since', '1 hour', ...args);
  const because = ['--reason', 'they are back'];
  expect((await recover('--dry-run')).stdout).toMatch(/^ep_\w+: 2 dead-lettered from \S+ to \S+\n$/);
  const unasked = await recover(...because);
  expect(unasked).toMatchObject({ code: 1, stdout: '' });
  expect(unasked.stderr).toContain('confirmation_missing');
  const recovered = await recover('--yes', ...because);
  expect(recovered.stdout).toMatch(/^ep_\w+: 2 sent again \(act \S+\)\n$/);
  for (const publication of missed) {
    await until('it is delivered', async () => (await stateOf(publication)) === 'delivered');
  }
});

test('abandon gives a dead-lettered one up, and repeating the command changes nothing', async () => {
  const publication = await rejected();
  const abandon = () =>
    run(
      'deliveries',
      'abandon',
      publication,
      endpoint,
      '--reason',
      'they left',
      '--by',
      'bob',
      '--act',
      `a-${publication}`,
    );
  const abandoned = await abandon();
  expect(abandoned).toMatchObject({ code: 0 });
  expect(abandoned.stdout).toMatch(/^order:\S+ → ep_\w+: abandoned, it was dead_lettered \(act a-order:\S+\)\n$/);
  expect(JSON.parse(abandoned.stderr)).toMatchObject({ msg: 'delivery.abandoned', by: 'bob' });
  expect(await stateOf(publication)).toBe('abandoned');
  expect(await abandon()).toMatchObject({ code: 0 });
});

test('republish makes a new event of it', async () => {
  const publication = await rejected();
  const args = ['--as', `${publication}:again`, '--reason', 'they lost it', '--yes'];
  const again = await run('republish', publication, ...args);
  expect(again.stdout).toMatch(/: published as msg_\w+, 1 deliveries\n$/);
  expect((await run('republish', publication, ...args, '--json')).stdout).toContain('"already_published"');
  await until('it is delivered', async () => (await stateOf(`${publication}:again`)) === 'delivered');
  expect(await stateOf(publication)).toBe('dead_lettered');
});

test.each([
  ['a delivery that nobody knows', ['deliveries', 'show', 'p', 'ep_nobody'], 'publication_unknown'],
  [
    'a publication that nobody knows',
    ['replay', '--publication', 'p', '--reason', 'r', '--yes'],
    'publication_unknown',
  ],
  ['a cursor that is none', ['deliveries', 'list', '--cursor', 'x'], 'request_invalid'],
  [
    'an endpoint that nobody knows',
    ['endpoints', 'recover', 'ep_x', '--since', '1h', '--reason', 'r', '--yes'],
    'endpoint_unknown',
  ],
])('%s is exit code 1, a code and a sentence', async (_what, args, code) => {
  const ended = await run(...args);
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toMatch(new RegExp(`^onefold: ${code}: .*\n$`));
});
