import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../hazards/support/until.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import { startOnefold } from './support/onefold-cli.js';

let stage: CliStage;
beforeAll(async () => {
  stage = await createCliStage();
});
afterAll(() => stage?.close());

/** A task queue of a test's own: the tests run side by side, since most of their time is waiting. */
const apart = () => ({ env: { ONEFOLD_TASK_QUEUE: `cli-${randomUUID()}` } });
const noted = (what: string) => until(what, async () => (await stage.notes()).find((note) => note.startsWith(what)));
const shipments = async (order: string) =>
  (await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length;
const resultOf = (order: string) => stage.client.workflow.getHandle(`event//shop/${order}`).result();

test.concurrent('a stopping worker finishes a short attempt, and takes no other', async () => {
  const queue = apart();
  const [{ url }, worker] = await Promise.all([stage.receiver(queue), stage.worker([], queue)]);
  const order = randomUUID();
  await stage.deliver(url, order, { ms: 1500 });
  await noted(`begin ${order}`);
  const stopping = worker.stop();
  const later = randomUUID();
  await until('the stop', () => worker.child.killed);
  const { code, ms } = await stopping;
  expect(code).toBe(0);
  expect(ms).toBeLessThan(8000);
  expect(await shipments(order)).toBe(1);
  expect(worker.lines.at(-1)?.msg).toBe('worker.stopped');
  expect(worker.lines.filter(({ msg }) => msg === 'effect.failed' || msg === 'effect.waiting')).toEqual([]);

  await stage.deliver(url, later);
  expect(await shipments(later)).toBe(0);
  const next = await stage.worker([], queue);
  expect(await resultOf(later)).toMatchObject({ outcome: 'done' });
  expect(await resultOf(order)).toMatchObject({ outcome: 'done' });
  expect((await stage.notes()).filter((note) => note.startsWith(`begin ${order}`))).toHaveLength(1);
  await next.stop();
});

test.concurrent.each([
  ['a first attempt', 'order.paid'],
  ['a long attempt', 'order.crated'],
])(
  '%s that outlasts the grace is told by its signal, and another worker does it within seconds',
  async (_what, type) => {
    const queue = apart();
    const [{ url }, leaving] = await Promise.all([stage.receiver(queue), stage.worker(['--grace', '1s'], queue)]);
    const order = randomUUID();
    await stage.deliver(url, order, { ms: 20_000 }, type);
    await noted(`begin ${order}`);
    const staying = await stage.worker([], queue);
    const began = Date.now();
    const { code, ms } = await leaving.stop();
    expect(code).toBe(0);
    // Far below the fifteen seconds after which an attempt that heeds no signal is given up.
    expect(ms).toBeLessThan(12_000);
    expect(await noted(`told ${order}`)).toBe(`told ${order} worker_shutdown ${leaving.child.pid}`);
    expect(leaving.lines).toContainEqual(
      expect.objectContaining({ msg: 'effect.waiting', event: `shop/${order}`, code: 'worker_shutdown', attempt: 1 }),
    );

    const result = await resultOf(order);
    // One attempt: the one that was cut short spent nothing, and the budget of `crate-order` has no second.
    expect(result).toMatchObject({ outcome: 'done', effects: [{ outcome: 'done', attempts: 1 }] });
    expect(Date.now() - began).toBeLessThan(25_000);
    expect(await shipments(order)).toBe(1);
    expect(staying.lines).toContainEqual(expect.objectContaining({ msg: 'effect.done', event: `shop/${order}` }));
  },
);

test.concurrent('receiver and worker run in one process, which stops in order', async () => {
  const both = startOnefold(['run', '--host', '127.0.0.1', '--port', '0'], {
    cwd: stage.folder,
    env: { ...stage.env, ...apart().env },
  });
  const { url } = await both.line('receiver.ready');
  const order = randomUUID();
  expect(await stage.deliver(String(url), order)).toMatchObject({ status: 202, path: 'first_run' });
  expect(await resultOf(order)).toMatchObject({ outcome: 'done' });
  expect(await stage.deliver(String(url), order)).toMatchObject({
    status: 200,
    path: 'duplicate_done',
    json: { event: `shop/${order}`, outcome: 'done', result: { 'ship-order': { shipment: `shp_${order}` } } },
  });
  expect((await both.stop('SIGINT')).code).toBe(0);
  const ends = both.lines.map(({ msg }) => msg).filter((msg) => msg.endsWith('.stopped'));
  expect(ends).toEqual(['receiver.stopped', 'worker.stopped']);
});
