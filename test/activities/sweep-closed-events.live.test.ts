import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ActivityDependencies } from '../../src/activities/dependencies.js';
import { createSweepClosedEvents } from '../../src/activities/sweep-closed-events.js';
import { inputWithoutBody } from '../../src/effects/plan-event.js';
import { recordPlan } from '../../src/ledger/record-plan.js';
import { readSweepCursor } from '../../src/ledger/sweep-cursor.js';
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

/** Visibility with these closed runs, of which those that are `broken` cannot be described. */
function clientWith(closed: { readonly closeTime: Date; readonly broken: boolean }[], queries: string[] = []): Client {
  const workflow = {
    async *list(options: { query: string }) {
      queries.push(options.query);
      if (!options.query.includes("'processEvent'")) return;
      for (const [index, { closeTime, broken }] of closed.entries()) {
        yield { workflowId: `event//shop/${broken ? 'broken' : 'fine'}-${index}`, runId: 'run', closeTime };
      }
    },
    getHandle: (id: string) => ({
      describe: async () => {
        if (id.includes('broken')) throw new Error('the history cannot be read');
        return { runId: 'a later run' };
      },
    }),
  };
  return { workflow } as unknown as Client;
}
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

test('a run that fails holds the next sweep back to its own end, and not to where this one began', async () => {
  const oldest = minutesAgo(40);
  const client = clientWith([
    { closeTime: minutesAgo(10), broken: true },
    { closeTime: oldest, broken: true },
    { closeTime: minutesAgo(300), broken: false },
  ]);
  expect(await sweep(client)).toEqual({ looked: 3, deadLettered: 0, failed: 2 });
  expect(await readSweepCursor(query(), harness.ledger.schema, 'closed_events')).toEqual(oldest);

  const queries: string[] = [];
  await sweep(clientWith([], queries));
  expect(queries[0]).toContain(`CloseTime >= '${new Date(oldest.getTime() - 5 * 60_000).toISOString()}'`);
  const cursor = await readSweepCursor(query(), harness.ledger.schema, 'closed_events');
  expect(cursor?.getTime()).toBeGreaterThan(minutesAgo(1).getTime());
});
