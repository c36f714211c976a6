import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deliveryTaskQueue } from '../../src/workflows/delivery-contract.js';
import { until } from '../hazards/support/until.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import { type RunOptions, startOnefold } from './support/onefold-cli.js';

const config = fileURLToPath(new URL('./fixtures/publishing.ts', import.meta.url));

let stage: CliStage;
beforeAll(async () => {
  stage = await createCliStage(config, 'SELECT 1');
  await stage.sql(
    `INSERT INTO onefold.endpoints (tenant, id, url, types, concurrency, state) VALUES
       ('', 'ep_one', 'https://one.example/', '{order.*}', 10, 'enabled'),
       ('', 'ep_two', 'https://two.example/', '{*}', 10, 'paused'),
       ('acme', 'ep_acme', 'https://acme.example/', '{*}', 10, 'enabled')`,
  );
});
afterAll(() => stage?.close());

async function file(name: string, content: string): Promise<string> {
  const path = join(stage.folder, `${randomUUID()}-${name}`);
  await writeFile(path, content);
  return path;
}
const publish = (args: readonly string[], options?: RunOptions) => stage.run(['publish', ...args], options);
const message = (publication: string, more: object = {}) => ({
  publication,
  type: 'order.confirmed',
  data: { order: '42' },
  ...more,
});
const ndjson = (messages: readonly unknown[]) => messages.map((one) => JSON.stringify(one)).join('\n');
const published = async () => (await stage.sql('SELECT publication FROM onefold.publications')).length;

test('a file is a message, and publishing it again says so', async () => {
  const publication = `order:${randomUUID()}:v1`;
  const path = await file('message.json', JSON.stringify(message(publication)));
  const first = await publish([path]);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(
    new RegExp(
      `^${publication}: published, webhook-id msg_[0-9a-f]{32}, to 2 endpoints\n  queued +ep_one\n  queued +ep_two\n$`,
    ),
  );
  const again = await publish([path, '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ publication, path: 'already_published' });
});

test('with a publication named, the file is its data, with every digit', async () => {
  const path = await file('data.json', '{"order":12345678901234567890}');
  const args = ['--publication', 'by-hand', '--type', 'order.note', '--tenant', 'acme', '--json'];
  const { code, stdout } = await publish([path, ...args]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).deliveries).toEqual([{ endpoint: 'ep_acme', state: 'queued' }]);
  const [row] = await stage.sql("SELECT tenant, body FROM onefold.publications WHERE publication = 'by-hand'");
  expect(row?.tenant).toBe('acme');
  expect(row?.body).toContain('"data":{"order":12345678901234567890}');
});

test('ten thousand lines are published, what is refused is named by its line, and the outcome is said once', async () => {
  const run = randomUUID();
  const lines = Array.from({ length: 10_000 }, (_, n) => JSON.stringify(message(`${run}:${n}`)));
  lines[16] = 'not json';
  lines[99] = JSON.stringify(message(`${run}:x`, { type: 'order.confirmd' }));
  lines[199] = '"text"';
  const path = await file('many.ndjson', `${lines.join('\n')}\n\n`);
  const { code, stdout, stderr } = await publish([path]);
  expect(code).toBe(1);
  expect(stdout).toBe('10000 read: 9997 published to 19994 deliveries, 0 already published, 3 refused\n');
  expect(stderr).toContain('line 17: publication_invalid: line 17 is not JSON');
  expect(stderr).toContain('line 100: publication_type_unknown: ');
  expect(stderr).toContain('line 200: publication_invalid: ');
  // Progress is shown while it runs alone.
  expect(stderr).not.toContain('10000 read: ');
  const again = await publish([path, '--json']);
  expect(JSON.parse(again.stdout)).toEqual({
    settled: 10_000,
    published: 0,
    alreadyPublished: 9_997,
    refused: 3,
    deliveries: 0,
  });
});

test('standard input is taken line by line, and type and tenant stand in where a line names none', async () => {
  const run = randomUUID();
  const lines = [
    { publication: `${run}:1`, data: { order: '1' } },
    { publication: `${run}:2`, data: { order: '2' }, tenant: '' },
  ];
  const args = ['-', '--type', 'order.confirmed', '--tenant', 'acme', '--json'];
  const { code, stdout } = await publish(args, { stdin: ndjson(lines) });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ published: 2, deliveries: 3 });
});

test('a broken off command is repeated and goes on from there', async () => {
  const run = randomUUID();
  const path = await file('many.ndjson', ndjson(Array.from({ length: 10_000 }, (_, n) => message(`${run}:${n}`))));
  const running = startOnefold(['publish', path], { env: stage.env, cwd: stage.folder });
  await until('some of it', async () => {
    const [row] = await stage.sql('SELECT count(*)::int AS n FROM onefold.publications WHERE publication LIKE $1', [
      `${run}:%`,
    ]);
    return row?.n > 500;
  });
  const { code, stderr } = await running.stop();
  expect(code).toBe(130);
  expect(stderr).toContain('stopped; the same command goes on from here');
  const again = JSON.parse((await publish([path, '--json'])).stdout);
  expect(again.alreadyPublished).toBeGreaterThan(500);
  expect(again.alreadyPublished + again.published).toBe(10_000);
});

test('a dry run says who would get each type, and publishes nothing', async () => {
  const run = randomUUID();
  const before = await published();
  const path = await file(
    'mixed.ndjson',
    ndjson([
      message(`${run}:1`),
      message(`${run}:2`),
      message(`${run}:3`, { tenant: 'acme' }),
      message(`${run}:4`, { data: { order: 42 } }),
    ]),
  );
  const { code, stdout, stderr } = await publish([path, '--dry-run']);
  expect(code).toBe(1);
  expect(stdout).toBe(
    [
      'order.confirmed: 2 would go to 2 endpoints',
      '  enabled   ep_one https://one.example/',
      '  paused    ep_two https://two.example/',
      'order.confirmed of tenant acme: 1 would go to 1 endpoints',
      '  enabled   ep_acme https://acme.example/',
      '1 would be refused',
      '',
    ].join('\n'),
  );
  expect(stderr).toMatch(/^line 4: data_invalid: /);
  expect(await published()).toBe(before);
});

test.each([
  ['a file that is not there', ['nowhere.json'], 1, 'config_invalid: nowhere.json cannot be read'],
  ['lines that are not there', ['nowhere.ndjson'], 1, 'config_invalid: nowhere.ndjson cannot be read'],
  ['one identity for many lines', ['x.ndjson', '--publication', 'p'], 2, '--publication names one message'],
  ['an option that is none', ['x.json', '--publicaton', 'p'], 2, "unknown option '--publicaton'"],
])('%s is said', async (_, args, code, says) => {
  const ended = await publish(args);
  expect(ended.code).toBe(code);
  expect(ended.stderr).toContain(says);
});

test('an application that publishes nothing says what is missing', async () => {
  const other = fileURLToPath(new URL('./fixtures/onefold.ts', import.meta.url));
  const path = await file('message.json', JSON.stringify(message('p')));
  const { code, stderr } = await publish([path, '--config', other]);
  expect(code).toBe(1);
  expect(stderr).toContain('config_invalid: the configuration publishes nothing');
});

test('a relay of its own starts what was published, and ends orderly by a signal', async () => {
  // What the tests before this one queued is not its affair.
  await stage.sql('DELETE FROM onefold.publication_deliveries');
  const relay = startOnefold(['relay'], { env: stage.env, cwd: stage.folder });
  await relay.line('relay.ready');
  const publication = `relayed:${randomUUID()}`;
  const path = await file('message.json', JSON.stringify(message(publication, { tenant: 'acme' })));
  await publish([path]);
  const row = async () => {
    const [only] = await stage.sql(
      "SELECT 1 FROM onefold.publication_deliveries WHERE publication = $1 AND state = 'started'",
      [publication],
    );
    return only !== undefined;
  };
  await until('the start', row);
  const described = await stage.client.workflow.getHandle(`publication/acme/ep_acme/${publication}`).describe();
  expect(described.taskQueue).toBe(deliveryTaskQueue(stage.env.ONEFOLD_TASK_QUEUE as string));
  const ended = await relay.stop();
  expect(ended.code).toBe(0);
  expect(ended.stdout).toContain('"msg":"relay.stopped"');
});
