import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ActivityDependencies } from '../../src/activities/dependencies.js';
import { createSweepClosedEvents } from '../../src/activities/sweep-closed-events.js';
import { inputWithoutBody } from '../../src/effects/plan-event.js';
import { recordPlan } from '../../src/ledger/record-plan.js';
import { moveSweepCursor, readSweepCursor } from '../../src/ledger/sweep-cursor.js';
import { unknownDigest } from '../../src/workflows/contract.js';
import { orderPaid, shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness?.close());
beforeEach(() => harness.sql('DELETE FROM onefold.sweeps'));

const query = () => harness.ledger.database.query;

function sweep(client: Client) {
  const { ledger, metrics, taskQueue } = harness;
  const deps: Partial<ActivityDependencies> = { ledger, metrics, client, log: pino({ level: 'silent' }) };
  const activity = createSweepClosedEvents(deps as ActivityDependencies);
  return new MockActivityEnvironment({ taskQueue }).run(activity);
}

/** A run that nobody carried, with this input under the key of that event, closed from outside. */
async function terminated(event: ReturnType<typeof orderPaid>, input: unknown): Promise<void> {
  const workflowId = harness.key(event);
  const handle = await harness.client.workflow.start('processEvent', {
    workflowId,
    taskQueue: harness.taskQueue,
    args: [input],
  });
  await handle.terminate();
  await until('the end in visibility', async () => {
    const found = await harness.client.workflow.count(
      `WorkflowId = '${workflowId}' AND ExecutionStatus = 'Terminated'`,
    );
    return found.count > 0;
  });
}
const recordOf = async (event: ReturnType<typeof orderPaid>) => {
  const [record] = await harness.sql('SELECT event_id, digest, input, state FROM onefold.events WHERE event_key = $1', [
    harness.key(event),
  ]);
  return record;
};
const bodiesOf = (event: ReturnType<typeof orderPaid>) =>
  harness.sql('SELECT digest FROM onefold.payloads WHERE event_key = $1', [harness.key(event)]);

test.each<[string, () => unknown]>([
  ['of another event', () => harness.input(orderPaid())],
  ['that is no event', () => 'a slip of the hand'],
])('an input %s gets a dead letter, and nothing of it is recorded under this one', async (_what, input) => {
  const event = orderPaid();
  await terminated(event, input());
  expect(await sweep(harness.client)).toMatchObject({ failed: 0 });
  expect(await recordOf(event)).toMatchObject({ event_id: event.id, digest: unknownDigest, state: 'dead_lettered' });
  expect(await bodiesOf(event)).toEqual([]);
});

test('a genuine record stands when a run with the input of another event took its place and was closed', async () => {
  const event = orderPaid();
  const input = harness.input(event);
  await recordPlan(query(), harness.ledger.schema, {
    ...input,
    eventKey: harness.key(event),
    input: inputWithoutBody(input),
    body: Buffer.from('{}'),
    effects: [{ effect: 'ship-order', businessKey: event.id }],
  });
  await terminated(event, harness.input(orderPaid()));
  await sweep(harness.client);
  expect(await recordOf(event)).toEqual({
    event_id: event.id,
    digest: input.digest,
    input: inputWithoutBody(input),
    state: 'dead_lettered',
  });
  const [letter] = await harness.sql('SELECT event_id, type, input FROM onefold.dead_letters WHERE event_key = $1', [
    harness.key(event),
  ]);
  expect(letter).toEqual({ event_id: event.id, type: 'order.paid', input: inputWithoutBody(input) });
});

interface ClosedRun {
  readonly closeTime: Date;
  readonly broken?: boolean;
  readonly workflowId?: string;
}

interface Seen {
  readonly queries: string[];
  readonly described: string[];
  mostAtOnce: number;
}

/** Visibility with these closed runs, of which those that are `broken` cannot be described. */
function clientWith(closed: readonly ClosedRun[], onList: (query: string) => void = () => {}) {
  const seen: Seen = { queries: [], described: [], mostAtOnce: 0 };
  let atOnce = 0;
  const workflow = {
    async *list({ query }: { query: string }) {
      if (!query.includes("'processEvent'")) return;
      seen.queries.push(query);
      onList(query);
      const [from, to] = [...query.matchAll(/CloseTime >?<?=? ?'([^']+)'/g)].map(([, at]) => Date.parse(at ?? ''));
      for (const [index, { closeTime, broken, workflowId }] of closed.entries()) {
        if (closeTime.getTime() < (from as number) || closeTime.getTime() >= (to as number)) continue;
        const id = workflowId ?? `event//shop/${broken ? 'broken' : 'fine'}-${index}`;
        yield { workflowId: id, runId: `run-${index}`, closeTime, status: { name: 'TERMINATED' } };
      }
    },
    getHandle: (id: string) => ({
      describe: async () => {
        seen.described.push(id);
        atOnce += 1;
        seen.mostAtOnce = Math.max(seen.mostAtOnce, atOnce);
        await new Promise((resolve) => setTimeout(resolve, 1));
        atOnce -= 1;
        if (id.includes('broken')) throw new Error('the history cannot be read');
        return { runId: 'a later run' };
      },
    }),
  };
  return { client: { workflow } as unknown as Client, seen };
}
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const cursorOf = (name: string) => readSweepCursor(query(), harness.ledger.schema, name);

test('a run that fails holds the next sweep back to its own end, and not to where this one began', async () => {
  const oldest = minutesAgo(40);
  const { client } = clientWith([
    { closeTime: minutesAgo(10), broken: true },
    { closeTime: oldest, broken: true },
    { closeTime: minutesAgo(300) },
  ]);
  expect(await sweep(client)).toEqual({ looked: 3, deadLettered: 0, failed: 2 });
  expect(await cursorOf('closed_events')).toEqual(oldest);

  const next = clientWith([]);
  await sweep(next.client);
  expect(next.seen.queries[0]).toContain(`CloseTime >= '${new Date(oldest.getTime() - 5 * 60_000).toISOString()}'`);
  expect((await cursorOf('closed_events'))?.getTime()).toBeGreaterThan(minutesAgo(1).getTime());
});

test('a run that cannot be read a day after its end holds nothing back once a second sweep has tried it', async () => {
  const closeTime = minutesAgo(26 * 60);
  await moveSweepCursor(query(), harness.ledger.schema, 'closed_events', minutesAgo(30 * 60));
  const { client } = clientWith([{ closeTime, broken: true }]);
  expect(await sweep(client)).toMatchObject({ failed: 1 });
  expect(await cursorOf('closed_events')).toEqual(closeTime);
  expect(await sweep(client)).toMatchObject({ failed: 1 });
  expect((await cursorOf('closed_events'))?.getTime()).toBeGreaterThan(minutesAgo(1).getTime());
});

test('a sweep that dies amid a mass termination has moved the cursor, and the next one goes on there', async () => {
  const begun = minutesAgo(60).getTime();
  const mass = Array.from({ length: 3_000 }, (_, nth) => ({ closeTime: new Date(begun + nth * 100) }));
  const died = clientWith(mass, () => {
    if (died.seen.described.length > 1_000) throw new Error('the worker dies');
  });
  await expect(sweep(died.client)).rejects.toThrow('the worker dies');
  expect(died.seen.mostAtOnce).toBe(16);
  const cursor = (await cursorOf('closed_events')) as Date;
  expect(cursor.getTime()).toBeGreaterThan(begun);

  const next = clientWith(mass);
  expect(await sweep(next.client)).toMatchObject({ failed: 0 });
  expect(next.seen.queries[0]).toContain(`CloseTime >= '${new Date(cursor.getTime() - 5 * 60_000).toISOString()}'`);
  expect(new Set([...died.seen.described, ...next.seen.described]).size).toBe(3_000);
});

test('more runs than a window takes, closed in one second, are all looked at', async () => {
  const closeTime = minutesAgo(60);
  const { client } = clientWith(Array.from({ length: 1_200 }, () => ({ closeTime })));
  expect(await sweep(client)).toMatchObject({ looked: 1_200, failed: 0 });
});

test('Temporal is not asked about runs whose end the ledger has', async () => {
  const event = orderPaid();
  await terminated(event, harness.input(event));
  await sweep(harness.client);
  const [letter] = await harness.sql('SELECT runs FROM onefold.dead_letters WHERE event_key = $1', [
    harness.key(event),
  ]);
  await harness.sql('UPDATE onefold.dead_letters SET runs = $2 WHERE event_key = $1', [harness.key(event), ['run-0']]);
  expect(letter?.runs).toHaveLength(1);
  await harness.sql('DELETE FROM onefold.sweeps');
  const closeTime = minutesAgo(1);
  const workflowId = harness.key(event);
  const { client, seen } = clientWith([
    { closeTime, workflowId },
    { closeTime, workflowId },
  ]);
  expect(await sweep(client)).toMatchObject({ looked: 2 });
  // The second of them is another run of the same event, of which no dead letter tells.
  expect(seen.described).toEqual([workflowId]);
});
