import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../hazards/support/until.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
beforeAll(async () => {
  stage = await createCliStage();
});
afterAll(() => stage?.close());

test("one grep of an event's key over the logs, and the deliveries table, tell its whole story", async () => {
  const [receiver, worker] = await Promise.all([stage.receiver(), stage.worker()]);
  const order = `order-${randomUUID()}`;
  const obstacle = join(stage.folder, order);
  const key = `event//shop/${order}`;
  const deliver = () => stage.deliver(receiver.url, order, { failWhile: obstacle });
  const ended = () =>
    stage.client.workflow
      .getHandle(key)
      .result()
      .catch(() => {});

  await writeFile(obstacle, '');
  await deliver();
  await ended();
  await deliver();
  await ended();
  await rm(obstacle);
  const args = ['replay', `shop/${order}`, '--yes', '--by', 'bob', '--reason', 'the shelf is back'];
  const replay = await stage.run(args);
  await ended();
  await deliver();
  const rows = await until('three deliveries', async () => {
    const found = await stage.sql(
      'SELECT path, code, status, body_differs FROM onefold.deliveries WHERE event_key = $1 ORDER BY received_at',
      [key],
    );
    return found.length === 3 && found;
  });
  const ends = await Promise.all([receiver.stop(), worker.stop()]);

  const grep = [...ends, replay]
    .flatMap(({ stdout, stderr }) => `${stdout}\n${stderr}`.split('\n'))
    .filter((line) => line.includes(key))
    .map((line) => JSON.parse(line))
    .sort((one, other) => one.time.localeCompare(other.time));
  const story = grep.map(({ msg, path, status, effect, attempt, attempts, code, outcome, by, reason }) =>
    [msg, path, status, effect, attempt ?? attempts, code, outcome, by, reason]
      .filter((part) => part !== undefined)
      .join(' '),
  );
  expect(story).toEqual([
    'webhook.claim first_run 202',
    'effect.failed ship-order 1 effect_threw',
    'effect.failed ship-order 2 effect_threw',
    'webhook.failed 2 budget_spent',
    'webhook.claim retry_after_failure 202',
    'effect.failed ship-order 1 effect_threw',
    'effect.failed ship-order 2 effect_threw',
    'webhook.failed 2 budget_spent',
    'webhook.replayed started bob the shelf is back',
    'effect.done ship-order 1 done',
    'webhook.done 1 done',
    'webhook.claim duplicate_done 200',
  ]);
  for (const line of grep.filter(({ msg }) => msg === 'effect.failed')) {
    expect(line).toMatchObject({
      businessKey: `shipment:${order}`,
      error: 'RangeError',
      at: expect.stringMatching(/test\/cli\/fixtures\/onefold\.ts:\d+$/),
    });
    // The message of the effect's error quotes the order, which is payload.
    expect(JSON.stringify(line)).not.toContain('no shelf holds');
  }
  expect(rows).toEqual([
    { path: 'first_run', code: null, status: 202, body_differs: false },
    { path: 'retry_after_failure', code: null, status: 202, body_differs: false },
    { path: 'duplicate_done', code: null, status: 200, body_differs: false },
  ]);
});
