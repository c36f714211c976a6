import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { defaultElapsedMs, defaultPausesMs } from '../../src/publisher/endpoint.js';
import type { DeliveryPolicy, DeliveryStatus, SendEnd } from '../../src/workflows/delivery-contract.js';
import { response, runStubbedDelivery } from './support/run-stubbed-delivery.js';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const usual: DeliveryPolicy = { pausesMs: defaultPausesMs, maximumElapsedMs: defaultElapsedMs, timeoutMs: 15_000 };
const short: DeliveryPolicy = { pausesMs: [10_000, 10_000, 10_000], maximumElapsedMs: hourMs, timeoutMs: 15_000 };
const delivered = { kind: 'delivered', response, policy: short } as const;
const fails = { fails: {} };

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  Runtime.install({ logger: quiet });
  environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: inject('timeSkippingServer') } },
  });
});
afterAll(() => environment?.teardown());

test('a delivery that is answered with 2xx ends as delivered after one attempt', async () => {
  const { result, tries, ends } = await runStubbedDelivery(environment, short, () => delivered);
  expect(result).toMatchObject({ outcome: 'delivered', attempts: 1, status: 200, eventId: 'msg_1', endpoint: 'ep_1' });
  expect(tries).toHaveLength(1);
  expect(ends).toEqual([]);
});

test('the default schedule makes eleven attempts over three days, never sooner than planned, then dead-letters', async () => {
  const began = Date.now();
  const { result, tries, ends, failure } = await runStubbedDelivery(environment, usual, () => fails);
  expect(result).toBeUndefined();
  expect(failure).toMatchObject({ cause: { type: 'budget_spent', nonRetryable: true } });
  expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  const pauses = tries.slice(1).map(({ at }, index) => at - (tries[index]?.at ?? 0));
  for (const [index, pause] of pauses.entries()) {
    const planned = defaultPausesMs[index] ?? 0;
    expect(pause).toBeGreaterThanOrEqual(planned);
    expect(pause).toBeLessThanOrEqual(planned + Math.max(planned / 4, 5_000) + 5_000);
  }
  expect(tries.at(-1)?.at).toBeGreaterThan(72 * hourMs);
  expect(ends).toHaveLength(1);
  expect(ends[0]).toMatchObject({ end: { outcome: 'dead_lettered', code: 'budget_spent' }, attempts: 11 });
  expect(ends[0]?.reasons).toHaveLength(11);
  expect(Date.now() - began).toBeLessThan(30_000);
});

test('every attempt carries the same event identity, and is numbered in its run', async () => {
  const { tries } = await runStubbedDelivery(environment, short, (n) => (n < 3 ? fails : delivered));
  expect(new Set(tries.map(({ eventId }) => eventId))).toEqual(new Set(['msg_1']));
  expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
});

test('a permanent answer ends it at once, with its own code', async () => {
  const { tries, ends } = await runStubbedDelivery(environment, short, () => ({
    fails: { code: 'http_404', message: 'HTTP 404', permanent: true },
  }));
  expect(tries).toHaveLength(1);
  expect(ends[0]?.end).toMatchObject({ outcome: 'dead_lettered', code: 'http_404' });
});

test('Retry-After is waited for, and one beyond the rest of the budget ends it by name', async () => {
  const asked = { fails: { code: 'http_429', retryAfterMs: 2 * minuteMs } };
  const waited = await runStubbedDelivery(environment, short, (n) => (n === 1 ? asked : delivered));
  expect(waited.tries[1]?.at).toBeGreaterThanOrEqual(2 * minuteMs);
  expect(waited.tries[1]?.at).toBeLessThan(3 * minuteMs);
  const tooLong = await runStubbedDelivery(environment, short, () => ({ fails: { retryAfterMs: 2 * hourMs } }));
  expect(tooLong.tries).toHaveLength(1);
  expect(tooLong.ends[0]?.end).toMatchObject({ code: 'retry_after_exceeds_budget' });
});

test('a hold spends no attempt, is looked at with growing pauses, and ends with the endpoint enabled', async () => {
  const held = { kind: 'held', because: 'endpoint_paused', policy: short } as const;
  const { result, tries } = await runStubbedDelivery(environment, short, (n) => (n < 5 ? held : delivered));
  expect(result).toMatchObject({ outcome: 'delivered', attempts: 1 });
  expect(tries.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
  const pauses = tries.slice(1).map(({ at }, index) => at - (tries[index]?.at ?? 0));
  expect(pauses[3]).toBeGreaterThan((pauses[0] ?? 0) * 2);
});

test('a delivery still held when its budget ends is dead-lettered with the reason, unsent', async () => {
  const held = { kind: 'held', because: 'endpoint_disabled', policy: short } as const;
  const { tries, ends } = await runStubbedDelivery(environment, short, () => held);
  expect(ends[0]).toMatchObject({ end: { code: 'endpoint_disabled' }, attempts: 0 });
  expect(tries.at(-1)?.at).toBeGreaterThanOrEqual(hourMs - 5_000);
  expect(tries.at(-1)?.at).toBeLessThan(hourMs + 5_000);
});

test('a limit spends no attempt; the delivery comes back with its ticket at the time given', async () => {
  const limited = (n: number) =>
    ({
      kind: 'limited',
      by: 'rate',
      waitMs: 7_000,
      ticket: { at: `2026-01-01T00:00:0${n}.000Z`, version: 1 },
      policy: short,
    }) as const;
  const { result, tries } = await runStubbedDelivery(environment, short, (n) => (n < 3 ? limited(n) : delivered));
  expect(result).toMatchObject({ outcome: 'delivered', attempts: 1 });
  expect(tries.map(({ ticket }) => ticket?.at)).toEqual([
    undefined,
    '2026-01-01T00:00:01.000Z',
    '2026-01-01T00:00:02.000Z',
  ]);
  expect(tries[1]?.at).toBeGreaterThanOrEqual(7_000);
  expect(tries[1]?.at).toBeLessThan(9_000);
});

test('one attempt is made although the budget of elapsed time was over before it', async () => {
  const old = { publishedAt: '2020-01-01T00:00:00.000Z' };
  const { tries, ends } = await runStubbedDelivery(environment, short, () => fails, { input: old });
  expect(tries).toHaveLength(1);
  expect(ends[0]).toMatchObject({ end: { code: 'budget_spent' }, attempts: 1 });
});

test('a limit is waited for beyond the budget where nothing was sent yet, and not after an attempt', async () => {
  const old = { publishedAt: '2020-01-01T00:00:00.000Z' };
  const limited = { kind: 'limited', by: 'concurrency', waitMs: 500, policy: short } as const;
  const first = await runStubbedDelivery(environment, short, (n) => (n < 4 ? limited : delivered), { input: old });
  expect(first.result).toMatchObject({ outcome: 'delivered' });
  const after = await runStubbedDelivery(environment, short, (n) => (n === 1 ? fails : limited));
  expect(after.ends[0]).toMatchObject({ end: { code: 'budget_spent' }, attempts: 1 });
});

test('the budget of a replay runs from the wish, not from the publishing', async () => {
  const at = new Date(await environment.currentTimeMs()).toISOString();
  const input = { publishedAt: '2020-01-01T00:00:00.000Z', replay: { id: 'r1', by: 'me', reason: 'why', at } };
  const { tries, result } = await runStubbedDelivery(environment, short, (n) => (n < 3 ? fails : delivered), { input });
  expect(result).toMatchObject({ outcome: 'delivered', attempts: 3 });
  expect(tries.every(({ replay }) => replay === 'r1')).toBe(true);
});

test('what fails before anything is sent spends no attempt', async () => {
  const away = { fails: { code: 'ledger_unavailable', counted: false } };
  const { result, tries } = await runStubbedDelivery(environment, short, (n) => (n < 8 ? away : delivered));
  expect(result).toMatchObject({ outcome: 'delivered', attempts: 1 });
  expect(tries).toHaveLength(8);
});

test('an end that could not be written is written before the delivery goes on, also before it is done', async () => {
  const end = { attemptId: 'a1', ended: 'retry' } as SendEnd;
  const last = { attemptId: 'a2', ended: 'delivered' } as SendEnd;
  const { recorded, result } = await runStubbedDelivery(environment, short, (n) =>
    n === 1 ? { fails: { unrecorded: end } } : { ...delivered, unrecorded: last },
  );
  expect(result).toMatchObject({ outcome: 'delivered', attempts: 2 });
  expect(recorded.map(({ attemptId }) => attemptId)).toEqual(['a1', 'a2']);
});

test('what the ledger has as delivered or abandoned is not sent again', async () => {
  const already = await runStubbedDelivery(environment, short, () => ({ kind: 'already_delivered' }));
  expect(already.result).toMatchObject({ outcome: 'already_delivered', attempts: 0 });
  const given = await runStubbedDelivery(environment, short, () => ({
    kind: 'already_abandoned',
    by: 'ann',
    reason: 'r',
  }));
  expect(given.result).toMatchObject({ outcome: 'abandoned', abandoned: { by: 'ann', reason: 'r' } });
});

test('a delivery whose end the ledger knows better ends as delivered', async () => {
  const { result, ends } = await runStubbedDelivery(environment, short, () => fails, { delivered: true });
  expect(ends).toHaveLength(1);
  expect(result).toMatchObject({ outcome: 'delivered' });
});

test('something other than an attempt that completed the activity is a failed attempt, not a delivery', async () => {
  const { tries, ends } = await runStubbedDelivery(environment, short, () => ({ byhand: true }) as never);
  expect(tries).toHaveLength(4);
  expect(ends[0]?.reasons[0]).toMatchObject({ code: 'result_unrecognised' });
});

test('an input that is no delivery of this workflow ID ends in the dead letters', async () => {
  for (const input of [{ endpoint: 'ep_other' }, { policy: 7 }, { eventId: '' }, { publishedAt: 'never' }]) {
    const { tries, ends } = await runStubbedDelivery(environment, short, () => delivered, { input });
    expect(tries).toEqual([]);
    expect(ends[0]).toMatchObject({ end: { code: 'input_malformed' }, endpoint: 'ep_1' });
  }
});

test('an endpoint that is removed during a pause ends its deliveries', async () => {
  const { tries, ends } = await runStubbedDelivery(
    environment,
    usual,
    async (n, handle) => {
      if (n === 3) await handle.signal('endpointChanged');
      return fails;
    },
    { look: () => ({ state: 'removed', policy: usual }) },
  );
  expect(tries).toHaveLength(3);
  expect(ends[0]).toMatchObject({ end: { code: 'endpoint_removed' }, attempts: 3 });
});

test('a changed schedule holds for the pause under way, counted from the failed attempt', async () => {
  const longer = { ...short, pausesMs: [10_000, 600_000, 600_000] };
  const { tries } = await runStubbedDelivery(
    environment,
    short,
    async (n, handle) => {
      if (n === 2) await handle.signal('endpointChanged');
      return n < 3 ? fails : delivered;
    },
    { look: () => ({ state: 'enabled', policy: longer }) },
  );
  const pause = (tries[2]?.at ?? 0) - (tries[1]?.at ?? 0);
  expect(pause).toBeGreaterThanOrEqual(600_000);
});

test('status shows the plan by the clock before it happens', async () => {
  let status: DeliveryStatus | undefined;
  await runStubbedDelivery(environment, usual, async (n, handle) => {
    if (n < 3) return fails;
    status = (await handle.query('status')) as DeliveryStatus;
    return delivered;
  });
  expect(status).toMatchObject({ phase: 'sending', attempts: 2, maximumAttempts: 11 });
  expect(status?.plan).toHaveLength(9);
  expect(status?.lastFailure).toMatchObject({ code: 'http_503' });
});

test('no new schedule puts off the try that a person wished for, also where both come in one go', async () => {
  const slow = { ...short, pausesMs: [3_600_000, 3_600_000], maximumElapsedMs: 24 * hourMs };
  const { tries } = await runStubbedDelivery(
    environment,
    slow,
    async (n, handle) => {
      if (n > 1) return delivered;
      await handle.signal('retryNow');
      await handle.signal('endpointChanged');
      return { fails: { policy: slow } };
    },
    { look: () => ({ state: 'enabled', policy: slow }) },
  );
  expect(tries).toHaveLength(2);
  expect(tries[1]?.at).toBeLessThan(60_000);
});

test('what never comes to sending ends after its budget, whatever keeps it from that in turn', async () => {
  const old = { publishedAt: '2020-01-01T00:00:00.000Z' };
  const { tries, ends } = await runStubbedDelivery(
    environment,
    short,
    (n) => ({ fails: { code: n % 2 ? 'secret_unreadable' : 'config_missing', counted: false } }),
    { input: old },
  );
  expect(ends[0]).toMatchObject({ end: { code: 'budget_spent' }, attempts: 0 });
  expect(tries.length).toBeLessThan(40);
});
