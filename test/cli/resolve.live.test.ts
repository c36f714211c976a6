import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../hazards/support/until.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
let url: string;

beforeAll(async () => {
  stage = await createCliStage(fileURLToPath(new URL('./fixtures/external.ts', import.meta.url)), 'SELECT 1');
  const [receiver] = await Promise.all([stage.receiver(), stage.worker()]);
  url = receiver.url;
});
afterAll(() => stage?.close());

/** An event whose call got no answer, and which waits for a person. */
async function parked() {
  const order = randomUUID();
  const obstacle = join(stage.folder, order);
  await writeFile(obstacle, '');
  await stage.deliver(url, order, { failWhile: obstacle });
  const row = async () =>
    (await stage.sql('SELECT state FROM onefold.effects WHERE business_key = $1', [`charge:${order}`]))[0];
  await until('the park', async () => (await row())?.state === 'parked');
  await rm(obstacle);
  return {
    order,
    row,
    result: () => stage.client.workflow.getHandle(`event//shop/${order}`).result(),
    calls: async () => (await stage.notes()).filter((note) => note.includes(order)).length,
    resolve: (...args: string[]) =>
      stage.run(['resolve', 'charge-card', `charge:${order}`, '--reason', 'seen at the bank', ...args]),
  };
}

test.concurrent('--dry-run shows the state, --done --yes settles it with every digit, and the event ends', async () => {
  const { order, resolve, result, calls, row } = await parked();
  const seen = await resolve('--done', 'null', '--dry-run');
  expect(seen).toMatchObject({ code: 0, stderr: '' });
  expect(seen.stdout).toMatch(
    new RegExp(
      `^charge-card charge:${order}: parked, last attempted for shop/${order} at \\S+Z\n  done: it counts as done, with the result given\n$`,
    ),
  );
  expect(await row()).toEqual({ state: 'parked' });

  const carried = await resolve('--done', '{"charge":12345678901234567890}', '--yes', '--by', 'ada');
  expect(carried.code).toBe(0);
  expect(carried.stdout).toMatch(
    new RegExp(`^charge-card charge:${order}: done: .* \\(act \\S+\\)\n  signalled shop/${order}\n$`),
  );
  expect(await result()).toMatchObject({
    outcome: 'done',
    effects: [{ result: { json: '{"charge":12345678901234567890}' } }],
  });
  expect(await calls()).toBe(1);
  const again = await resolve('--absent', '--yes');
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toMatch(/^onefold: resolve_refused: .* is done, by shop\/\S+: done is final\n$/);
});

test.concurrent('--absent --json is the outcome and nothing else, and the same act again answers the same', async () => {
  const { order, resolve, result, calls } = await parked();
  const act = `act-${order}`;
  const first = await resolve('--absent', '--yes', '--json', '--by', 'ada', '--act', act);
  expect(first.code).toBe(0);
  const outcome = JSON.parse(first.stdout);
  expect(outcome).toMatchObject({ id: act, outcome: 'absent', seen: { state: 'parked' }, toldAll: true });
  expect(JSON.parse(first.stderr)).toMatchObject({
    msg: 'effect.resolved',
    process: 'resolve',
    eventKey: `event//shop/${order}`,
    by: 'ada',
    reason: 'seen at the bank',
    act,
    outcome: 'absent',
  });
  await result();
  const again = await resolve('--absent', '--yes', '--json', '--act', act);
  expect(JSON.parse(again.stdout)).toEqual({ ...outcome, waiting: [] });
  expect(await calls()).toBe(2);
});

test.concurrent('without a terminal and without --yes nobody can be asked, and nothing is changed', async () => {
  const { resolve, row } = await parked();
  const { code, stdout, stderr } = await resolve('--absent');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/absent: .*\nonefold: confirmation_missing: nobody is there to ask: add --yes/);
  expect(await row()).toEqual({ state: 'parked' });
});

test.concurrent('with Temporal away it is settled, exit code 1 says that nobody could be told, and the act is named', async () => {
  const { order, row, result } = await parked();
  const away = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const args = ['resolve', 'charge-card', `charge:${order}`, '--reason', 'r', '--done', '1', '--yes'];
  const { code, stdout } = await stage.run([...args, '--act', `act-${order}`], { env: away });
  expect(code).toBe(1);
  expect(stdout).toMatch(
    new RegExp(`\n  left shop/${order}: temporal_unavailable: .*\nNot every event .* --act act-${order}\\.\n$`),
  );
  expect(await row()).toEqual({ state: 'done' });
  expect((await stage.run([...args, '--act', `act-${order}`])).code).toBe(0);
  expect(await result()).toMatchObject({ outcome: 'done' });
});

test.concurrent.each([
  ['neither --done nor --absent', [], 2, /say --done '<json>' or --absent/],
  ['both', ['--done', '1', '--absent'], 2, /cannot be used with/],
  ['a --done that is no JSON', ['--done', 'ch_1', '--yes'], 1, /^onefold: result_not_json: --done takes JSON text/],
  ['a key that nobody has claimed', ['--absent', '--yes'], 1, /^onefold: claim_unknown: /],
])('%s is refused', async (_what, args, code, message) => {
  const ended = await stage.run(['resolve', 'charge-card', 'nobody', '--reason', 'r', ...args]);
  expect(ended).toMatchObject({ code, stdout: '' });
  expect(ended.stderr).toMatch(message);
});

test.concurrent('replay says that the keys differ, and --rekey shows and carries out the new ones', async () => {
  const { order, row } = await parked();
  await stage.client.workflow.getHandle(`event//shop/${order}`).terminate('an operator');
  const env = { KEY_PREFIX: 'payment' };
  const replay = (...args: string[]) => stage.run(['replay', `shop/${order}`, '--reason', 'r', ...args], { env });
  const differ = await replay('--dry-run');
  expect(differ).toMatchObject({ code: 1, stdout: '' });
  expect(differ.stderr).toMatch(/^onefold: keys_differ: .*: recorded "charge:.*", computed "payment:.*--rekey/);
  expect((await replay('--dry-run', '--rekey')).stderr).toMatch(
    /^onefold: replay_refused: .*which is parked.*onefold resolve/,
  );

  const settled = await stage.run(['resolve', 'charge-card', `charge:${order}`, '--reason', 'r', '--absent', '--yes']);
  expect(settled.code).toBe(0);
  expect(await row()).toEqual({ state: 'released' });
  expect((await replay('--dry-run', '--rekey')).stdout).toContain(
    `  perform charge-card payment:${order} (was charge:${order}): not done\n`,
  );
});
