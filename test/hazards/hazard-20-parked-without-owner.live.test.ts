import { randomUUID } from 'node:crypto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Activities } from '../../src/activities/index.js';
import { park } from '../../src/effects/recovery.js';
import { attemptPolicy } from '../../src/effects/retry-options.js';
import type { EventStatus, ProcessEventResult } from '../../src/workflows/contract.js';
import { createStage, type Stage } from '../operations/support/stage.js';
import { runStubbed } from '../workflows/support/run-stubbed.js';
import { shop } from './support/shop.js';
import { until } from './support/until.js';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const hour = 3_600_000;
const day = 24 * hour;

// Time is skipped for the whole environment, so these two run one after the other, on activities without a database.
let environment: TestWorkflowEnvironment;
let stage: Stage;
beforeAll(async () => {
  Runtime.install({ logger: quiet });
  environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: inject('timeSkippingServer') } },
  });
  stage = await createStage();
});
afterAll(async () => {
  await environment?.teardown();
  await stage?.close();
});

/** Runs an event whose effect is parked until `resolvedAfterMs`; nobody signals. */
async function runParked(resolvedAfterMs: number, parkedAtMostMs = 30 * day) {
  const id = randomUUID();
  const looks: number[] = [];
  let letter: { code: string; afterMs: number } | undefined;
  let parkedAt: number | undefined;
  const planned = {
    effect: 'charge',
    policy: attemptPolicy(undefined, 30_000, 'test'),
    external: { recovery: 'park', parkedAtMostMs },
  } as const;
  const sinceParked = async () => (await environment.currentTimeMs()) - (parkedAt ?? 0);
  const activities: Partial<Activities> = {
    attemptEffect: async ({ attempt }) => {
      if (parkedAt === undefined) return { kind: 'parked', fence: 1, message: 'its outcome is unknown' };
      const end = { effect: 'charge', businessKey: id, outcome: 'done', attempts: attempt, fence: 2 } as const;
      return { kind: 'ended', end };
    },
    recordParked: async () => {
      parkedAt = await environment.currentTimeMs();
      return { state: 'parked' };
    },
    lookAtParked: async () => {
      looks.push(await sinceParked());
      return { parked: (looks.at(-1) ?? 0) < resolvedAfterMs, listed: true };
    },
    recordDeadLetter: async ({ code }) => {
      letter = { code, afterMs: await sinceParked() };
      return { opened: true };
    },
  };
  const result = await runStubbed(environment, id, planned, activities);
  return { result, looks, letter };
}

test('a word whose signal was lost is found by the timer, which looks every quarter of an hour at the latest', async () => {
  const { result, looks } = await runParked(2 * day);
  expect(result).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
  const gaps = looks.map((at, index) => at - (looks[index - 1] ?? 0));
  expect(gaps[0]).toBeLessThanOrEqual(80_000);
  expect(Math.max(...gaps)).toBeLessThan(20 * 60_000);
  expect(looks.at(-1)).toBeLessThan(2 * day + 20 * 60_000);
});

test('when nobody speaks within the limit, it is a dead letter and never done', async () => {
  const { result, letter } = await runParked(Number.POSITIVE_INFINITY, 6 * hour);
  expect(result).toBeUndefined();
  expect(letter?.code).toBe('effect_parked');
  expect(letter?.afterMs).toBeGreaterThanOrEqual(6 * hour - 1000);
  expect(letter?.afterMs).toBeLessThan(6 * hour + 60_000);
});

test('while an effect is parked its event runs, stands among the dead letters with its owner, and a person ends it', async () => {
  let calls = 0;
  const charge = shop.externalEffect('charge', {
    on: 'order.paid',
    businessKey: ({ data }) => `charge:${data.order}`,
    perform: async () => {
      calls += 1;
      throw new Error('the connection broke');
    },
    recovery: park(),
  });
  const app = stage.deploy([charge]);
  await app.startWorker();
  try {
    const order = randomUUID();
    const events = [randomUUID(), randomUUID()];
    for (const id of events) await app.deliver(id, { order });
    const handles = events.map((id) => stage.client.workflow.getHandle(`event//shop/${id}`));
    for (const handle of handles) {
      await until(
        'the park',
        async () => ((await handle.query('status')) as EventStatus).effects[0]?.phase === 'parked',
      );
    }
    const open = () =>
      stage.sql(
        'SELECT event_id, code, parked FROM onefold.dead_letters WHERE closed_at IS NULL AND event_id = ANY($1)',
        [events],
      );
    await until('both entries', async () => (await open()).length === 2);
    const entries = events.map((id) => ({ event_id: id, code: 'effect_parked', parked: true }));
    expect(await open()).toEqual(expect.arrayContaining(entries));
    expect(calls).toBe(1);

    await app.onefold.resolve('charge', `charge:${order}`, {
      outcome: 'done',
      result: { charge: 'ch_1' },
      by: 'ada',
      reason: 'the bank shows it',
    });
    const ends = (await Promise.all(handles.map((handle) => handle.result()))) as ProcessEventResult[];
    expect(ends.map(({ outcome }) => outcome).sort()).toEqual(['already_done', 'done']);
    expect(await open()).toEqual([]);
    expect(calls).toBe(1);
  } finally {
    await app.stopWorker();
  }
});
