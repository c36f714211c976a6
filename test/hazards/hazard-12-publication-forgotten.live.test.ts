import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { publish } from '../../src/publisher/publish.js';
import type { RelayStep } from '../../src/publisher/start-taken.js';
import type { OutboxProcessSettings } from '../publisher/support/outbox-process.js';
import { createOutboxStage, type OutboxStage } from '../publisher/support/outbox-stage.js';
import { forkWorker, killWorkers } from './support/spawn-worker.js';
import { until } from './support/until.js';

const script = fileURLToPath(new URL('../publisher/support/outbox-process.ts', import.meta.url));
const endpoints = ['ep_1', 'ep_2', 'ep_3', 'ep_4', 'ep_5'];

let stage: OutboxStage;
let publication: string;
beforeEach(async () => {
  stage = await createOutboxStage();
  publication = `order:${randomUUID()}:v1`;
  for (const id of endpoints) await stage.endpoint(id);
  await stage.sql('CREATE TABLE orders (id text)');
});
afterEach(async () => {
  await killWorkers();
  await stage?.close();
});

const message = () => ({ publication, type: 'order.note', data: { n: 1 } });
const forkAt = (does: OutboxProcessSettings['does']) =>
  forkWorker(script, {
    address: inject('temporalAddress'),
    taskQueue: stage.taskQueue,
    databaseUrl: stage.databaseUrl,
    publication,
    does,
  } satisfies OutboxProcessSettings);
const rows = async () => {
  const [counted] = await stage.sql<{ publications: number; deliveries: number; orders: number }>(
    `SELECT (SELECT count(*)::int FROM onefold.publications) AS publications,
            (SELECT count(*)::int FROM onefold.publication_deliveries) AS deliveries,
            (SELECT count(*)::int FROM orders) AS orders`,
  );
  return counted;
};
const statesOf = () =>
  stage.sql<{ state: string; n: number }>(
    'SELECT state, count(*)::int AS n FROM onefold.publication_deliveries GROUP BY state ORDER BY state',
  );
const allStarted = (count: number) =>
  until('all started', async () => {
    const [only, ...others] = await statesOf();
    return only?.state === 'started' && only.n === count && others.length === 0;
  });
/** What time does. */
const expireLeases = () =>
  stage.sql(
    `UPDATE onefold.publication_deliveries SET relay_until = '-infinity' WHERE relay_until > clock_timestamp()`,
  );

test('a process that dies between its insert and its commit has published nothing', async () => {
  const child = await forkAt({ publish: 'before_commit' });
  expect(await child.exited).toBe('SIGKILL');
  // The server learns of the death by the closed connection, and rolls back.
  expect(await rows()).toEqual({ publications: 0, deliveries: 0, orders: 0 });
  expect((await publish(stage.deps, message())).path).toBe('published');
});

test('a process that dies after its commit has published everything, and repeating it adds nothing', async () => {
  const child = await forkAt({ publish: 'after_commit' });
  expect(await child.exited).toBe('SIGKILL');
  expect(await rows()).toEqual({ publications: 1, deliveries: 5, orders: 1 });
  const again = await publish(stage.deps, message());
  expect(again).toMatchObject({ path: 'already_published' });
  expect(again.deliveries.map(({ endpoint }) => endpoint)).toEqual(endpoints);
  expect(await rows()).toMatchObject({ publications: 1, deliveries: 5 });
});

/** From now on the third delivery of a publication takes as long as a test needs. */
async function haltAtThird(): Promise<void> {
  await stage.sql(
    `CREATE FUNCTION halt() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN PERFORM pg_sleep(3); RETURN NEW; END $$`,
  );
  await stage.sql(
    `CREATE TRIGGER halt BEFORE INSERT ON onefold.publication_deliveries
     FOR EACH ROW WHEN (NEW.endpoint = 'ep_3') EXECUTE FUNCTION halt()`,
  );
}
const halted = () =>
  until('two deliveries to be written', async () => {
    const [row] = await stage.sql<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
    );
    return row?.pid;
  });

test('a connection that breaks after two of five deliveries leaves no publication', async () => {
  await haltAtThird();
  const dying = publish(stage.deps, message());
  dying.catch(() => {});
  await stage.sql('SELECT pg_terminate_backend($1)', [await halted()]);
  await expect(dying).rejects.toThrow();
  expect(await rows()).toMatchObject({ publications: 0, deliveries: 0 });
  await stage.sql('DROP TRIGGER halt ON onefold.publication_deliveries');
  expect((await publish(stage.deps, message())).deliveries).toHaveLength(5);
});

test('a process that dies after two of five deliveries leaves all five, or none', async () => {
  await haltAtThird();
  const child = await forkAt({ publish: 'whole' });
  await halted();
  child.kill('SIGKILL');
  await child.exited;
  const seen = new Set<string>();
  await until('the statement to end', async () => {
    seen.add(JSON.stringify(await rows()));
    const [row] = await stage.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
    return row === undefined;
  });
  seen.add(JSON.stringify(await rows()));
  for (const one of seen) {
    const { publications, deliveries } = JSON.parse(one);
    expect(deliveries).toBe(publications * 5);
  }
  await stage.sql('DROP TRIGGER halt ON onefold.publication_deliveries');
  expect((await publish(stage.deps, message())).deliveries).toHaveLength(5);
  expect(await rows()).toMatchObject({ publications: 1, deliveries: 5 });
});

test.each<[string, RelayStep, number]>([
  ['after it took', 'after_take', 1],
  ['after its first start', 'after_start', 1],
  ['after its last start', 'after_start', 5],
  ['before it marked', 'before_mark', 1],
  ['after it marked', 'after_mark', 1],
])('a relay that dies %s leaves each delivery to be started exactly once', async (_, step, nth) => {
  await publish(stage.deps, message());
  const child = await forkAt({ relay: step, nth });
  expect(await child.exited).toBe('SIGKILL');
  const before = await statesOf();
  expect(before).toEqual([{ state: step === 'after_mark' ? 'started' : 'queued', n: 5 }]);
  await expireLeases();
  stage.relay();
  await allStarted(5);
  await until('all workflows', async () => (await stage.started()).length === 5);
  expect(await stage.started()).toEqual(endpoints.map((endpoint) => `publication//${endpoint}/${publication}`));
});

test('the lease of a relay that died runs out by itself', async () => {
  await publish(stage.deps, message());
  const child = await forkAt({ relay: 'after_take', nth: 1 });
  await child.exited;
  const [row] = await stage.sql<{ left: number }>(
    `SELECT extract(epoch FROM max(relay_until) - clock_timestamp())::float8 AS left FROM onefold.publication_deliveries`,
  );
  expect(row?.left).toBeGreaterThan(0);
  expect(row?.left).toBeLessThanOrEqual(30);
});

test('what was delivered is not started again after Temporal forgot it and the relay died before it marked', async () => {
  await publish(stage.deps, message());
  const child = await forkAt({ relay: 'before_mark', nth: 1 });
  await child.exited;
  expect(await statesOf()).toEqual([{ state: 'queued', n: 5 }]);
  // The workflows did their work, and wrote so; then their retention ended.
  await stage.sql(`UPDATE onefold.publication_deliveries SET state = 'delivered', ended_at = clock_timestamp()`);
  await until('all workflows', async () => (await stage.started()).length === 5);
  for (const workflowId of await stage.started()) {
    await stage.client.workflow.getHandle(workflowId).terminate();
    await stage.client.connection.workflowService.deleteWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId },
    });
  }
  await until('it to be forgotten', async () => (await stage.started()).length === 0);
  await expireLeases();
  stage.relay();
  await publish(stage.deps, { ...message(), publication: `${publication}-next` });
  await until('the next one', async () => (await statesOf()).some(({ state, n }) => state === 'started' && n === 5));
  await until('its workflows', async () => (await stage.started()).length === 5);
  expect((await stage.started()).every((id) => id.endsWith('-next'))).toBe(true);
});

test('the same publication is recognised after everything in Temporal is gone', async () => {
  const first = await publish(stage.deps, message());
  await stage.sql(`UPDATE onefold.publication_deliveries SET state = 'delivered'`);
  const again = await publish(stage.deps, message());
  expect(again).toMatchObject({ path: 'already_published', eventId: first.eventId, publishedAt: first.publishedAt });
  expect(again.deliveries.every(({ state }) => state === 'delivered')).toBe(true);
});
