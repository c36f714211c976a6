import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '../hazards/support/until.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import { deliverUntilTaken } from './support/deliver-until-taken.js';
import { startOnefold } from './support/onefold-cli.js';

let stage: CliStage;
let url: string;
let act: string;

beforeAll(async () => {
  stage = await createCliStage();
  const [receiver] = await Promise.all([stage.receiver(), stage.worker()]);
  url = receiver.url;
});
afterAll(() => stage?.close());
beforeEach(async () => {
  act = `act-${randomUUID()}`;
  // What an earlier test left is no longer taken in.
  await stage.sql("UPDATE onefold.events SET source = 'earlier' WHERE source = 'shop'");
});

const reason = ['--reason', 'the shelf is back'];

/** Dead letters that would succeed now. */
async function deadLettered(many: number, type = 'order.paid'): Promise<string[]> {
  const orders = Array.from({ length: many }, () => randomUUID());
  const obstacle = join(stage.folder, randomUUID());
  await writeFile(obstacle, '');
  const left = [...orders];
  const deliver = async (): Promise<void> => {
    for (let order = left.pop(); order !== undefined; order = left.pop()) {
      const { status } = await deliverUntilTaken(stage, url, order, { failWhile: obstacle }, type);
      expect(status).toBe(202);
    }
  };
  await Promise.all([deliver(), deliver(), deliver(), deliver()]);
  await inState(orders, 'dead_lettered');
  await rm(obstacle);
  return orders;
}

/** Waits until all are in a state; where some never are, says in which they are, and why. */
async function inState(orders: readonly string[], state: string, withinMs = 300_000): Promise<void> {
  const count = async () => {
    const [row] = await stage.sql('SELECT count(*) AS n FROM onefold.events WHERE event_id = ANY($1) AND state = $2', [
      orders,
      state,
    ]);
    return Number(row?.n) === orders.length;
  };
  try {
    await until(`${orders.length} ${state}`, count, withinMs);
  } catch (cause) {
    const standing = await stage.sql(
      `SELECT e.state, l.code, l.message, count(*) AS n FROM onefold.events e
       LEFT JOIN onefold.dead_letters l ON l.event_key = e.event_key AND l.closed_at IS NULL
       WHERE e.event_id = ANY($1) GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 10`,
      [orders],
    );
    throw new Error(`not all are ${state}: ${JSON.stringify(standing)}`, { cause });
  }
}

async function answered(): Promise<number> {
  const [row] = await stage.sql(
    'SELECT count(*) AS n FROM onefold.replay_set_items WHERE set_id = $1 AND outcome IS NOT NULL',
    [act],
  );
  return Number(row?.n);
}

/** Each order's replays, runs by replays, and shipments. */
async function replaysOf(orders: readonly string[]) {
  const [acts] = await stage.sql(
    "SELECT count(*) AS acts, count(DISTINCT event_key) AS events FROM onefold.acts WHERE kind = 'replay' AND id LIKE $1",
    [`${act}/%`],
  );
  const [shipped] = await stage.sql(
    'SELECT count(*) AS shipments, count(DISTINCT order_id) AS orders FROM shipments WHERE order_id = ANY($1)',
    [orders],
  );
  return { ...acts, ...shipped };
}

test('a replay of 500 dead letters that is killed half-way goes on by its act alone, and each event is run once', async () => {
  const orders = await deadLettered(500);
  const first = startOnefold(['replay', '--source', 'shop', '--act', act, '--rate', '100', '--yes', ...reason], {
    cwd: stage.folder,
    env: stage.env,
  });
  await until('half of them', async () => (await answered()) >= 250, 120_000);
  await first.stop('SIGKILL');
  const before = await answered();
  expect(before).toBeGreaterThanOrEqual(250);
  expect(before).toBeLessThan(500);

  const look = await stage.run(['replay', '--act', act, '--dry-run']);
  expect(look.stdout).toMatch(/500 events of .*\n {2}open: \d+ started.*, \d+ left/);
  const second = await stage.run(['replay', '--act', act, '--rate', '100', '--yes']);
  expect({ code: second.code, stdout: second.stdout }).toEqual({
    code: 0,
    stdout: `500 events: 500 started (act ${act})\n`,
  });
  await inState(orders, 'done');
  expect(await replaysOf(orders)).toEqual({ acts: '500', events: '500', shipments: '500', orders: '500' });
  const queue = stage.env.ONEFOLD_TASK_QUEUE;
  // One run that failed and one that was replayed, of each.
  await until('all runs in visibility', async () => {
    const { count } = await stage.client.workflow.count(`TaskQueue = '${queue}' AND WorkflowType = 'processEvent'`);
    return count >= 1000;
  });
  const { count } = await stage.client.workflow.count(`TaskQueue = '${queue}' AND WorkflowType = 'processEvent'`);
  expect(count).toBe(1000);
  const again = await stage.run(['replay', '--act', act]);
  expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 0, stdout: second.stdout });
}, 900_000);

test('Ctrl-C stops after the events under way, says how to go on, and the rest can be cancelled', async () => {
  const orders = await deadLettered(20);
  const running = startOnefold(['replay', '--source', 'shop', '--act', act, '--rate', '3', '--yes', ...reason], {
    cwd: stage.folder,
    env: stage.env,
  });
  await until('the first', async () => (await answered()) > 0);
  const { code, stdout } = await running.stop('SIGINT');
  expect(code).toBe(130);
  expect(stdout).toContain(`Stopped; onefold replay --act ${act} goes on from here`);
  const started = await answered();
  expect(started).toBeLessThan(20);

  const cancelled = await stage.run(['replay', '--act', act, '--cancel', '--yes', '--reason', 'enough']);
  expect(cancelled.code).toBe(0);
  expect(cancelled.stdout).toContain(`20 events, cancelled: ${started} started, ${20 - started} not asked for`);
  expect(await replaysOf(orders)).toMatchObject({ acts: String(started) });
}, 90_000);

test('of two people who replay one event at once, one is given its run, the other is told why not, and it is run once', async () => {
  const [order] = await deadLettered(1);
  const answers = await Promise.all(
    ['ann', 'bob'].map((by) =>
      stage.run(['replay', `shop/${order}`, '--by', by, '--act', `${act}/${by}`, '--yes', '--json', ...reason]),
    ),
  );
  await inState([order as string], 'done');
  const told = answers.map(({ stdout, stderr }) => (stdout === '' ? stderr : JSON.parse(stdout).outcome) as string);
  expect(told.filter((one) => one === 'started')).toHaveLength(1);
  const other = told.find((one) => one !== 'started');
  expect(other).toMatch(/^(lost_race|nothing_to_do)$|is being processed/);
  const acts = await stage.sql('SELECT actor, outcome FROM onefold.acts WHERE id LIKE $1 ORDER BY actor', [`${act}/%`]);
  // A refusal is no act: nothing was asked for.
  expect(acts).toHaveLength(other?.includes('is being processed') ? 1 : 2);
  expect(acts.filter(({ outcome }) => outcome === 'started')).toHaveLength(1);
  expect(await replaysOf([order as string])).toMatchObject({ shipments: '1' });
});

test('the set is shown first and asked for, a look prints each decision, and neither changes anything', async () => {
  const [order] = await deadLettered(1);
  const asked = await stage.run(['replay', '--source', 'shop', '--act', act, ...reason]);
  expect(asked.code).toBe(1);
  expect(asked.stderr).toContain('confirmation_missing');
  expect(asked.stderr).toContain('1 event, received from');
  expect(asked.stderr).toContain('1 shop order.paid budget_spent');
  expect(asked.stderr).toContain('ship-order: 1 to perform, 0 in doubt, 0 done');
  const look = await stage.run(['replay', '--source', 'shop', '--since', '1 hour', '--dry-run']);
  expect(look).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`shop/${order}: perform ship-order shipment:${order}: not done`),
  });
  const json = await stage.run(['replay', '--source', 'shop', '--dry-run', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ size: 1, decisions: [{ event: `shop/${order}` }] });
  expect(await stage.sql('SELECT 1 FROM onefold.replay_sets WHERE id = $1', [act])).toEqual([]);
  expect(await replaysOf([order as string])).toMatchObject({ acts: '0' });
});

test('events that cannot be replayed are named in the summary, and the exit code says so', async () => {
  const [order] = await deadLettered(1);
  // Its body is too large for the history, and gone from the ledger.
  await stage.sql('DELETE FROM onefold.payloads WHERE event_key = $1', [`event//shop/${order}`]);
  await stage.sql(
    'UPDATE onefold.events SET input = replace(input, \'"version":1\', \'"version":9\') WHERE event_id = $1',
    [order],
  );
  await stage.sql("UPDATE onefold.events SET event_key = event_key || '-gone' WHERE event_id = $1", [order]);
  const { code, stdout } = await stage.run(['replay', '--source', 'shop', '--act', act, '--yes', ...reason]);
  expect(code).toBe(1);
  expect(stdout).toContain(`1 event: 0 started, 1 refused (act ${act})\n  shop/${order}: payload_missing: `);
});

test.each([
  ['no filter', ['replay', ...reason], 'which events by --source'],
  ['filters beside an event', ['replay', 'shop/evt_1', '--type', 't', ...reason], '--type: for many events'],
  ['a cancel of nothing', ['replay', '--cancel', ...reason], '--cancel needs --act'],
  ['many without a reason', ['replay', '--source', 'shop'], "required option '--reason"],
  ['a rate of nothing', ['replay', '--source', 'shop', '--rate', '0', ...reason], '0.1 to 1000'],
  ['new keys for many', ['replay', '--source', 'shop', '--rekey', ...reason], '--rekey is for one event'],
])('%s is a wrong command line', async (_what, args, text) => {
  const { code, stderr } = await stage.run(args);
  expect(stderr).toContain(text);
  expect(code).toBe(2);
});
