import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
let url: string;

beforeAll(async () => {
  stage = await createCliStage();
  const [receiver] = await Promise.all([stage.receiver(), stage.worker()]);
  url = receiver.url;
});
afterAll(() => stage?.close());

/** An event whose effect failed for good, and would succeed now. */
async function deadLettered() {
  const order = randomUUID();
  const obstacle = join(stage.folder, order);
  const ended = () =>
    stage.client.workflow
      .getHandle(`event//shop/${order}`)
      .result()
      .catch(() => undefined);
  await writeFile(obstacle, '');
  await stage.deliver(url, order, { failWhile: obstacle });
  await ended();
  await rm(obstacle);
  return {
    order,
    ended,
    replay: (...args: string[]) => stage.run(['replay', `shop/${order}`, '--reason', 'the shelf is back', ...args]),
    shipments: async () => (await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length,
  };
}

test.concurrent('--dry-run shows the state and changes nothing, --yes carries it out, and repeating finds nothing to do', async () => {
  const { order, ended, replay, shipments } = await deadLettered();
  const seen = await replay('--dry-run');
  expect(seen).toMatchObject({ code: 0, stderr: '' });
  expect(seen.stdout).toBe(
    `shop/${order}: dead_lettered in the ledger, failed in Temporal\n  perform ship-order shipment:${order}: not done\n`,
  );
  expect(await stage.sql('SELECT 1 FROM onefold.acts WHERE event_key = $1', [`event//shop/${order}`])).toEqual([]);

  const carried = await replay('--yes', '--by', 'bob');
  expect(carried.code).toBe(0);
  expect(carried.stdout).toMatch(new RegExp(`^shop/${order}: replayed as run \\S+ \\(act \\S+\\)\n$`));
  expect(await ended()).toMatchObject({ outcome: 'done' });
  expect(await shipments()).toBe(1);
  expect((await replay('--yes')).stdout).toMatch(/: nothing to do, every effect is done/);
});

test.concurrent('--json is the outcome and nothing else, and the log line goes to standard error', async () => {
  const { order, ended, replay, shipments } = await deadLettered();
  const looked = await replay('--dry-run', '--json');
  expect(JSON.parse(looked.stdout)).toMatchObject({ outcome: 'dry_run', state: { ledger: 'dead_lettered' } });

  const { code, stdout, stderr } = await replay('--yes', '--json', '--by', 'bob', '--act', `act-${order}`);
  expect(code).toBe(0);
  const outcome = JSON.parse(stdout);
  expect(outcome).toMatchObject({
    event: `shop/${order}`,
    id: `act-${order}`,
    outcome: 'started',
    runId: expect.any(String),
  });
  expect(JSON.parse(stderr)).toMatchObject({
    msg: 'webhook.replayed',
    process: 'replay',
    eventKey: `event//shop/${order}`,
    by: 'bob',
    reason: 'the shelf is back',
    outcome: 'started',
  });
  await ended();
  const again = await replay('--yes', '--json', '--by', 'bob', '--act', `act-${order}`);
  expect(JSON.parse(again.stdout)).toEqual(outcome);
  expect(await shipments()).toBe(1);
});

test.concurrent('without a terminal and without --yes nobody can be asked, and nothing is changed', async () => {
  const { replay, shipments } = await deadLettered();
  const { code, stdout, stderr } = await replay();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/perform ship-order .*\nonefold: replay_refused: nobody is there to ask: add --yes/);
  expect(await shipments()).toBe(0);
});

test.concurrent.each([
  ['an event that nobody knows', ['shop/nobody-knows'], {}, /^onefold: event_unknown: /],
  ['Temporal away', ['shop/x'], { TEMPORAL_ADDRESS: '127.0.0.1:1' }, /^onefold: temporal_unavailable: /],
  ['a ledger that is not there', ['shop/x'], { ONEFOLD_SCHEMA: 'nobody_made_it' }, /^onefold: migration_missing: /],
  [
    'a namespace that is not there',
    ['shop/x'],
    { TEMPORAL_NAMESPACE: 'nowhere' },
    /^onefold: config_invalid: .*'nowhere'/,
  ],
])('%s is exit code 1, a code and a sentence', async (_what, args, env, message) => {
  const { code, stdout, stderr } = await stage.run(['replay', '--reason', 'r', '--yes', ...args], { env });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});
