import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Activities } from '../../src/activities/index.js';
import { attemptPolicy, type RetryOptions } from '../../src/effects/retry-options.js';
import type { FailureDetail } from '../../src/workflows/contract.js';
import { runStubbed } from './support/run-stubbed.js';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

// Time is skipped for the whole environment, so these tests run one after the other, on activities without a database.
let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  Runtime.install({ logger: quiet });
  environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: inject('timeSkippingServer') } },
  });
});
afterAll(() => environment?.teardown());

interface Ended {
  readonly code: string;
  readonly message: string;
  readonly attempts: number;
  /** Times of the tries, in ms from the first. */
  readonly tries: readonly number[];
}

/** Runs an event whose one effect fails as told, to its dead letter, in skipped time. */
async function run(
  retry: RetryOptions | undefined,
  fail: (attempt: number) => Partial<FailureDetail> | undefined,
): Promise<Ended | 'done'> {
  const id = randomUUID();
  const times: number[] = [];
  let letter: { code: string; message: string; effects: string } | undefined;
  const planned = { effect: 'ship-order', policy: attemptPolicy(retry, 30_000, 'test') };
  const activities: Partial<Activities> = {
    attemptEffect: async ({ attempt }) => {
      times.push(await environment.currentTimeMs());
      const failure = fail(attempt);
      if (!failure) {
        return {
          kind: 'ended',
          end: { effect: 'ship-order', businessKey: id, outcome: 'done', attempts: attempt, fence: 1 },
        };
      }
      const detail: FailureDetail = {
        code: 'effect_threw',
        message: 'no',
        permanent: false,
        counted: true,
        ...failure,
      };
      throw ApplicationFailure.create({ type: detail.code, message: detail.message, details: [detail] });
    },
    recordDeadLetter: async (argument) => {
      letter = argument;
      return { opened: true };
    },
  };
  const ended = await runStubbed(environment, id, planned, activities);
  if (ended || !letter) return 'done';
  const [effect] = JSON.parse(letter.effects);
  const first = times[0] ?? 0;
  return {
    code: letter.code,
    message: letter.message,
    attempts: effect.attempts,
    tries: times.map((time) => time - first),
  };
}
const hour = 3_600_000;
const day = 24 * hour;
const ended = (outcome: Ended | 'done'): Ended => {
  if (outcome === 'done') throw new Error('expected a dead letter');
  return outcome;
};

test('the default budget of three days is spent in seconds of skipped time', async () => {
  const began = Date.now();
  const end = ended(await run(undefined, () => ({})));
  expect(end.code).toBe('budget_spent');
  expect(end.attempts).toBeGreaterThan(10);
  expect(end.attempts).toBeLessThanOrEqual(30);
  const last = end.tries.at(-1) ?? 0;
  expect(last).toBeLessThanOrEqual(3 * day);
  if (end.attempts < 30) expect(end.message).toMatch(/gave up after \d+\.\d h/);
  expect(Date.now() - began).toBeLessThan(30_000);
});

test('a budget of attempts ends with its last attempt', async () => {
  const end = ended(
    await run({ maximumAttempts: 4, initialInterval: '1 hour', maximumInterval: '1 hour' }, () => ({})),
  );
  expect(end).toMatchObject({
    code: 'budget_spent',
    attempts: 4,
    message: expect.stringContaining('gave up after 4 attempts'),
  });
  expect(end.tries).toHaveLength(4);
});

test('a budget of elapsed time ends before the pause that would outrun it', async () => {
  const end = ended(
    await run(
      { maximumElapsed: '1 day', maximumAttempts: 1000, initialInterval: '2 hours', backoffCoefficient: 1 },
      () => ({}),
    ),
  );
  expect(end.code).toBe('budget_spent');
  expect(end.tries.at(-1)).toBeLessThanOrEqual(day);
  expect(end.tries.length).toBeGreaterThan(12);
});

test('NotYetError spends no attempt and ends with the elapsed time', async () => {
  const end = ended(
    await run({ maximumElapsed: '6 hours', maximumAttempts: 1 }, () => ({
      code: 'not_yet',
      counted: false,
      retryAfterMs: 60_000,
    })),
  );
  expect(end).toMatchObject({ code: 'budget_spent', attempts: 0 });
  expect(end.tries.length).toBeGreaterThan(10);
  expect(end.tries.at(-1)).toBeGreaterThan(5 * hour);
  expect(end.tries.at(-1)).toBeLessThanOrEqual(6 * hour);
});

test('waiting for another event outlasts the elapsed budget', async () => {
  let waits = 0;
  const outcome = await run({ maximumElapsed: '1 hour' }, () => {
    waits += 1;
    return waits <= 20 ? { code: 'claim_waiting', counted: false } : undefined;
  });
  expect(outcome).toBe('done');
});

test('a Retry-After is waited for, and one beyond the budget ends it at once', async () => {
  const waited = ended(await run({ maximumAttempts: 2 }, () => ({ retryAfterMs: hour })));
  expect(waited.tries[1]).toBeGreaterThanOrEqual(hour);
  expect(waited.tries[1]).toBeLessThanOrEqual(1.3 * hour);
  const beyond = ended(await run({ maximumElapsed: '1 hour' }, () => ({ retryAfterMs: 2 * hour })));
  expect(beyond).toMatchObject({ code: 'budget_spent', attempts: 1 });
});

test('an effect that succeeds at its last attempt is done', async () => {
  expect(await run({ maximumAttempts: 3, initialInterval: '1 day' }, (attempt) => (attempt < 3 ? {} : undefined))).toBe(
    'done',
  );
});
