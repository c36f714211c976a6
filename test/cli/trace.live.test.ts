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

test('an event delivered five times, with a crash, a reset and a replay in between, is told by the text alone', async () => {
  const { url } = await stage.receiver();
  const order = randomUUID();
  const obstacle = join(stage.folder, order);
  const handle = stage.client.workflow.getHandle(`event//shop/${order}`);
  const ended = async () => handle.result().catch(() => undefined);
  const deliver = () => stage.deliver(url, order, { ms: 600_000, failWhile: obstacle });

  const first = await stage.worker();
  expect((await deliver()).path).toBe('first_run');
  await until('the first attempt', async () => (await stage.notes()).some((note) => note.startsWith(`begin ${order}`)));
  await first.stop('SIGKILL');
  expect((await deliver()).path).toBe('in_progress_elsewhere');

  await writeFile(obstacle, '');
  await stage.worker();
  await ended();
  const [failed] = await stage.sql('SELECT state FROM onefold.events WHERE event_id = $1', [order]);
  expect(failed).toEqual({ state: 'dead_lettered' });
  const before = (await handle.describe()).runId;

  await stage.client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: `event//shop/${order}`, runId: before },
    reason: 'the shelf may be back',
    requestId: randomUUID(),
    workflowTaskFinishEventId: await lastTask(before, order),
  });
  await until('the run that was reset', async () => {
    const { runId, status } = await handle.describe();
    return runId !== before && status.name === 'FAILED';
  });

  await rm(obstacle);
  const replayed = await stage.run(['replay', `shop/${order}`, '--reason', 'shelf is back', '--by', 'bob', '--yes']);
  expect(replayed.code).toBe(0);
  await ended();
  for (let delivery = 3; delivery <= 5; delivery++) expect((await deliver()).path).toBe('duplicate_done');
  await until('the evidence', async () => {
    const rows = await stage.sql('SELECT 1 FROM onefold.deliveries WHERE event_key = $1', [`event//shop/${order}`]);
    return rows.length === 5;
  });

  const { code, stdout } = await stage.run(['trace', `shop/${order}`]);
  expect(code).toBe(0);
  // Is it done, by which attempt, and who let it run?
  expect(stdout).toMatch(new RegExp(`^shop/${order} order.paid: done in the ledger, completed in Temporal\n`));
  expect(stdout).toMatch(
    new RegExp(`ship-order shipment:${order}: done by attempt 1 of run \\S+ started by the replay of bob at `),
  );
  // Which deliveries did nothing, and why?
  expect(stdout).toContain('delivered 5 times');
  expect(stdout).toContain('1. first_run: started the event (202)');
  expect(stdout).toContain('2. in_progress_elsewhere: no-op: it was being processed');
  expect(stdout).toContain('5. duplicate_done: no-op: it was done (200)');
  expect(stdout).toMatch(/replayed by bob at \S+: shelf is back \(started, act \S+\)/);
  // What befell it.
  expect(stdout).toMatch(/worker_lost: shop\/\S+: a worker died or froze/);
  expect(stdout).toMatch(new RegExp(`reset from run ${before}: the shelf may be back`));
  expect(stdout).toMatch(/attempt \d of 2 · ship-order · \S+: effect_threw: RangeError: no shelf holds/);
  expect(stdout).toMatch(/dead letter opened: \S+/);
  expect(stdout).toMatch(/run started by the replay of bob: shelf is back/);
  expect(stdout).toContain('run started by delivery 1');
  expect(stdout).toMatch(/once: ship-order \S+: one completion/);
  expect(stdout).not.toMatch(/onefold (replay|resolve|abandon)/);
  const times = [...stdout.matchAll(/^ {2}(\S+Z) /gm)].map(([, time]) => time);
  expect(times.length).toBeGreaterThan(15);
  expect(times).toEqual([...times].sort());

  const told = await stage.run(['trace', 'ship-order', `shipment:${order}`, '--json']);
  expect(JSON.parse(told.stdout)).toMatchObject({
    outcome: 'traced',
    events: [{ ledger: 'done', effects: [{ done: true, doneBy: { replay: { by: 'bob' } } }] }],
  });
  const part = await stage.run(['trace', order.slice(0, 30)]);
  expect(part.code).toBe(1);
  expect(part.stdout).toContain(`onefold trace shop/${order} --tenant ''`);
  const unknown = await stage.run(['trace', randomUUID()]);
  expect(unknown).toMatchObject({ code: 1, stdout: '' });
  expect(unknown.stderr).toContain('identity_unknown');
});

/** Of a run, the first workflow task that was completed: a reset to it runs everything after it again. */
async function lastTask(runId: string, order: string): Promise<never> {
  const { history } = await stage.client.workflowService.getWorkflowExecutionHistory({
    namespace: 'default',
    execution: { workflowId: `event//shop/${order}`, runId },
  });
  const task = history?.events?.find((event) => event.workflowTaskCompletedEventAttributes);
  return task?.eventId as never;
}
