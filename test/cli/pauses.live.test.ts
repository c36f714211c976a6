import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { until } from '../hazards/support/until.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import { startOnefold } from './support/onefold-cli.js';

let stage: CliStage;
let url: string;

beforeAll(async () => {
  stage = await createCliStage();
  const [receiver] = await Promise.all([stage.receiver(), stage.worker()]);
  url = receiver.url;
});
afterAll(() => stage?.close());
afterEach(() => stage.sql('DELETE FROM onefold.pauses'));

const because = ['--reason', 'the warehouse is flooded', '--by', 'bob'];
const handleOf = (order: string) => stage.client.workflow.getHandle(`event//shop/${order}`);
const phaseOf = (order: string, phase: string) =>
  until(`the phase ${phase}`, () =>
    handleOf(order)
      .query<any>('status')
      .then(
        ({ effects }) => effects[0]?.phase === phase,
        () => false,
      ),
  );
const shipments = async (order: string) =>
  (await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length;

test('an effect is paused, listed and resumed, in words and as JSON', async () => {
  const order = randomUUID();
  const looked = await stage.run(['pause', 'effect', 'ship-order', ...because, '--dry-run']);
  expect(looked).toMatchObject({ code: 0, stderr: '' });
  expect(looked.stdout).toBe('effect ship-order: would be paused, 0 open events have it before them\n');
  expect(await stage.sql('SELECT 1 FROM onefold.pauses')).toEqual([]);

  const paused = await stage.run(['pause', 'effect', 'ship-order', ...because, '--act', 'flood']);
  expect(paused.stdout).toBe('effect ship-order: paused, 0 open events have it before them (act flood)\n');
  expect(paused.stderr).toContain('effect.paused');
  await stage.deliver(url, order);
  await phaseOf(order, 'waiting');
  const again = await stage.run(['pause', 'effect', 'ship-order', '--reason', 'and on fire', '--by', 'eve']);
  expect(again.stdout).toMatch(/^effect ship-order: paused; it was paused at \S+, by bob: the warehouse is flooded;/);

  const listed = await stage.run(['pause', 'list']);
  expect(listed.stdout).toMatch(/^\S+Z effect ship-order by eve: and on fire \(1 open event has it before it\)\n$/);
  const asJson = await stage.run(['pause', 'list', '--json']);
  expect(JSON.parse(asJson.stdout)).toMatchObject([{ kind: 'effect', name: 'ship-order', by: 'eve', waiting: 1 }]);

  const resumed = await stage.run(['resume', 'effect', 'ship-order', '--reason', 'dry again', '--act', 'dry']);
  expect(resumed.stdout).toMatch(/^effect ship-order: resumed, it was paused .*\(act dry\)\n {2}told 1 event\n$/);
  await handleOf(order).result();
  expect(await shipments(order)).toBe(1);
  const repeated = await stage.run(['pause', 'effect', 'ship-order', ...because, '--act', 'flood']);
  expect(repeated).toMatchObject({ code: 1, stdout: expect.stringContaining('has been resumed since') });
  expect((await stage.run(['pause', 'list'])).stderr).toBe('nothing is paused\n');
});

test('unknown names, and a reason that is missing, are refused', async () => {
  const unknown = await stage.run(['pause', 'source', 'shp', ...because]);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain('pause_refused');
  expect(unknown.stderr).toContain("'shop'");
  expect((await stage.run(['pause', 'source', 'shop'])).code).toBe(2);
  expect((await stage.run(['retry-now', ...because])).code).toBe(2);
  expect((await stage.run(['retry-now', 'shop/nobody-knows', ...because])).stderr).toContain('event_unknown');
});

test('a resume that was killed before it told anybody has resumed: the same act tells, and who is not told looks by itself', async () => {
  const orders = [randomUUID(), randomUUID()];
  await stage.run(['pause', 'source', 'shop', ...because]);
  await Promise.all(orders.map((order) => stage.deliver(url, order)));
  await Promise.all(orders.map((order) => phaseOf(order, 'waiting')));
  // Temporal is out of its reach, so that it is killed while it tells.
  const killed = startOnefold(['resume', 'source', 'shop', '--reason', 'dry again', '--act', 'killed'], {
    cwd: stage.folder,
    env: { ...stage.env, TEMPORAL_ADDRESS: '192.0.2.1:7233' },
  });
  await until('the commit', async () => (await stage.sql('SELECT 1 FROM onefold.pauses')).length === 0);
  await killed.stop('SIGKILL');
  for (const order of orders) await handleOf(order).result();
  for (const order of orders) expect(await shipments(order)).toBe(1);
  const again = await stage.run(['resume', 'source', 'shop', '--reason', 'dry again', '--act', 'killed', '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ outcome: 'resumed', told: 0 });
});

test('a pausing event is tried now, alone or with all others of its effect', async () => {
  const order = randomUUID();
  await stage.run(['pause', 'effect', 'ship-order', ...because]);
  await stage.deliver(url, order);
  await phaseOf(order, 'waiting');
  const told = await stage.run(['retry-now', `shop/${order}`, ...because, '--act', 'one']);
  expect(told.stdout).toMatch(
    /told to try now \(act one\)\n {2}ship-order: waiting, attempts: 0 of 2, .*effect_paused\n$/,
  );
  const again = await stage.run(['retry-now', `shop/${order}`, ...because, '--act', 'one']);
  expect(again.stdout).toContain('was told by this act before');
  const asked = await stage.run(['retry-now', '--effect', 'ship-order', ...because]);
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining('confirmation_missing') });
  const many = await stage.run(['retry-now', '--effect', 'ship-order', ...because, '--yes']);
  expect(many.stdout).toMatch(/^effect ship-order: told to try now \(act \S+\)\n {2}told 1 event\n$/);
  await stage.run(['resume', 'effect', 'ship-order', ...because]);
  await handleOf(order).result();
});

test('a dead-lettered event is abandoned after a look', async () => {
  const order = randomUUID();
  const obstacle = join(stage.folder, order);
  await writeFile(obstacle, '');
  await stage.deliver(url, order, { failWhile: obstacle });
  await handleOf(order)
    .result()
    .catch(() => {});
  await rm(obstacle);
  const looked = await stage.run(['abandon', `shop/${order}`, ...because, '--dry-run']);
  expect(looked.stdout).toBe(
    `shop/${order}: dead_lettered in the ledger, failed in Temporal\n  ship-order shipment:${order}: not done\n`,
  );
  const asked = await stage.run(['abandon', `shop/${order}`, ...because]);
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining('confirmation_missing') });
  const done = await stage.run(['abandon', `shop/${order}`, ...because, '--yes', '--act', 'mine']);
  expect(done.stdout).toBe(
    `shop/${order}: abandoned, it was dead_lettered in the ledger, failed in Temporal (act mine)\n`,
  );
  const repeated = await stage.run(['abandon', `shop/${order}`, ...because, '--yes', '--act', 'mine', '--json']);
  expect(JSON.parse(repeated.stdout)).toMatchObject({ outcome: 'abandoned', id: 'mine' });
  await stage.deliver(url, order);
  expect(await handleOf(order).result()).toMatchObject({ outcome: 'abandoned' });
  expect(await shipments(order)).toBe(0);
});
