import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type CliStage, createCliStage } from '../cli/support/cli-stage.js';
import { deliverUntilTaken } from '../cli/support/deliver-until-taken.js';
import { until } from '../hazards/support/until.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const heading = "## The same with Temporal's own CLI\n";
// A namespace of its own, since the page's events have names that others may have too.
const namespace = `operating-${randomUUID()}`;

let stage: CliStage;
let url: string;
let path: string;
/** The blocks of the section by the bold words before them. */
let blocks: ReadonlyMap<string, string>;

beforeAll(async () => {
  const page = await readFile(join(root, 'docs', 'operating.md'), 'utf8');
  const section = page.slice(page.indexOf(heading) + heading.length).split('\n## ')[0] ?? '';
  blocks = new Map(
    [...section.matchAll(/\*\*([^*]+?)\.?\*\*[^*]*?```sh\n([\s\S]*?)```/g)].map(([, a, b]) => [a, b] as never),
  );

  const fixture = fileURLToPath(new URL('../cli/fixtures/incident.ts', import.meta.url));
  stage = await createCliStage(fixture, undefined, namespace);
  // The page's commands as a person types them: `temporal` and `npx onefold` are on the path.
  const bin = join(stage.folder, 'bin');
  await mkdir(bin);
  await symlink(inject('temporalExecutable'), join(bin, 'temporal'));
  await writeFile(
    join(bin, 'npx'),
    `#!/bin/sh\nshift\nexec ${process.execPath} ${join(root, 'dist/cli/main.js')} "$@"\n`,
  );
  await chmod(join(bin, 'npx'), 0o755);
  path = `${bin}${delimiter}${process.env.PATH}`;

  expect((await stage.run(['setup', '--create-namespace'])).code).toBe(0);
  const receiver = await stage.receiver();
  url = receiver.url;
  await stage.worker();
}, 240_000);
afterAll(() => stage?.close());

/** Runs a block as it stands on the page, and stops at the first command that fails. */
function run(name: string): Promise<string> {
  const script = blocks.get(name);
  if (script === undefined) throw new Error(`the page has no block '${name}'; it has ${[...blocks.keys()].join(', ')}`);
  const { port } = new URL(url);
  const env = { ...process.env, ...stage.env, PATH: path, ONEFOLD_PORT: port };
  return new Promise((resolve, reject) => {
    execFile('bash', ['-ec', script], { cwd: stage.folder, env }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${name}: ${stdout}${stderr}`));
      else resolve(stdout);
    });
  });
}

async function failing(id: string, type = 'order.paid', order = id): Promise<string> {
  const file = join(stage.folder, `fail-${id}`);
  await writeFile(file, '');
  expect((await deliverUntilTaken(stage, url, id, { order, failWhile: file }, type)).status).toBe(202);
  return file;
}

function statusOf(id: string): Promise<string> {
  return stage.client.workflow
    .getHandle(`event//shop/${id}`)
    .describe()
    .then(({ status }) => status.name);
}

async function inState(id: string, state: string): Promise<void> {
  const query = `WorkflowId = 'event//shop/${id}' AND OnefoldState = '${state}'`;
  await until(`${id} ${state}`, async () => ((await stage.client.workflow.count(query)).count > 0 ? true : undefined));
}

async function shipped(order: string): Promise<number> {
  return (await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length;
}

test('every block of the section is run below', () => {
  expect([...blocks.keys()]).toEqual([
    'Find',
    'Look',
    'Try again now',
    'Give up',
    'Terminate, then redeliver',
    'Reset to before a failed attempt',
  ]);
});

test('find, look, and try again now', async () => {
  const file = await failing('evt-1', 'order.paid', '1');
  await inState('evt-1', 'waiting');
  // Visibility comes after the fact, and the key after the state.
  await until('the business key', async () => {
    const query = "OnefoldBusinessKey = 'shipment:1' AND OnefoldSource = 'shop'";
    return (await stage.client.workflow.count(query)).count > 0;
  });
  const [waiting, byKey, failed] = (await run('Find')).split(/(?=Status|Total)/).filter((text) => text.trim() !== '');
  expect(waiting).toContain('event//shop/evt-1');
  expect(byKey).toContain('event//shop/evt-1');
  expect(failed).toMatch(/Total: *0/);
  const looked = await run('Look');
  expect(looked).toContain('no shelf holds 1');
  expect(looked).toContain('"phase":"pausing"');

  // In the way of each of the tries that the block asks for, or the first would end the event.
  await run('Try again now');
  await rm(file);
  // An attempt that was still under way fails once more, and pauses again.
  await until('the end', async () => {
    await stage.client.workflow
      .getHandle('event//shop/evt-1')
      .signal('retryNow')
      .catch(() => {});
    return (await statusOf('evt-1')) === 'COMPLETED';
  });
  expect(await shipped('1')).toBe(1);
}, 240_000);

test('give up: the redelivery runs nothing', async () => {
  await failing('evt-2');
  await inState('evt-2', 'waiting');
  expect(await run('Give up')).toContain('abandoned');
  expect(await statusOf('evt-2')).toBe('COMPLETED');
  await rm(join(stage.folder, 'fail-evt-2'));
  const again = await stage.deliver(url, 'evt-2');
  expect(again).toMatchObject({ status: 200, path: 'duplicate_done', json: { outcome: 'abandoned' } });
  expect(await shipped('evt-2')).toBe(0);
}, 240_000);

test('terminate, then redeliver: one effect, in a second run', async () => {
  const file = await failing('evt-3');
  await inState('evt-3', 'waiting');
  await rm(file);
  await writeFile(
    join(stage.folder, 'evt-3.json'),
    JSON.stringify({ type: 'order.paid', data: { order: 'evt-3', failWhile: file } }),
  );
  expect(await run('Terminate, then redeliver')).toContain('202 retry_after_failure');
  await until('the end', async () => ((await statusOf('evt-3')) === 'COMPLETED' ? true : undefined));
  expect(await shipped('evt-3')).toBe(1);
}, 240_000);

test('reset to before a failed attempt: the attempt is made again, and the dead letter closes', async () => {
  const file = await failing('evt-4', 'order.crated');
  await until('the failure', async () => ((await statusOf('evt-4')) === 'FAILED' ? true : undefined));
  await rm(file);
  await run('Reset to before a failed attempt');
  await until('the end', async () => ((await statusOf('evt-4')) === 'COMPLETED' ? true : undefined));
  expect(await shipped('evt-4')).toBe(1);
  const open = await stage.sql("SELECT 1 FROM onefold.dead_letters WHERE event_id = 'evt-4' AND closed_at IS NULL");
  expect(open).toEqual([]);
}, 240_000);
