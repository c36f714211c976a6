import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/effects/retry-after.js';
import { decide } from '../../src/publisher/decisions.js';
import { defaultElapsedMs, defaultPausesMs } from '../../src/publisher/endpoint.js';
import type { DeliveryPolicy } from '../../src/workflows/delivery-contract.js';
import { deliveryWaitMs, maximumAttempts, nextSend, plannedSends } from '../../src/workflows/delivery-pauses.js';

const policy: DeliveryPolicy = {
  pausesMs: defaultPausesMs,
  maximumElapsedMs: defaultElapsedMs,
  timeoutMs: 15_000,
};
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const failed = (at: number, share: number, retryAfter = 0) => ({ at, retryAfterMs: retryAfter, random: share });

test('the default schedule fits its budget with all its jitter, and lasts at least three days', () => {
  let at = 0;
  for (let attempt = 1; attempt < maximumAttempts(policy); attempt++) {
    const next = nextSend(policy, attempt, failed(at, 0.999_999), defaultElapsedMs);
    expect(next.kind).toBe('at');
    if (next.kind === 'at') at = next.at;
  }
  const least = defaultPausesMs.reduce((sum, pause) => sum + pause, 0);
  expect(least).toBeGreaterThanOrEqual(72 * 3_600_000);
});

test('jitter only adds: a pause is never shorter than planned nor than Retry-After, nor longer by more than its bound', () => {
  const pause = fc.integer({ min: 1, max: 86_400_000 });
  fc.assert(
    fc.property(pause, fc.integer({ min: 0, max: 86_400_000 }), random, (pauseMs, asked, share) => {
      const budget = Number.MAX_SAFE_INTEGER;
      const next = nextSend({ ...policy, pausesMs: [pauseMs] }, 1, failed(0, share, asked), budget);
      const least = Math.max(pauseMs, asked);
      expect(next.kind).toBe('at');
      if (next.kind !== 'at') return;
      expect(next.at).toBeGreaterThanOrEqual(least);
      expect(next.at).toBeLessThanOrEqual(least + Math.ceil(Math.max(least / 4, Math.min(least, 5_000))));
    }),
  );
});

test('ten thousand deliveries that failed together come back spread: no second has more than three times the mean', () => {
  for (const attempt of [1, 2, 3, 6, 10]) {
    const seconds = new Map<number, number>();
    for (let n = 0; n < 10_000; n++) {
      const next = nextSend(policy, attempt, failed(0, n / 10_000), Number.MAX_SAFE_INTEGER);
      if (next.kind === 'at') {
        const second = Math.floor(next.at / 1000);
        seconds.set(second, (seconds.get(second) ?? 0) + 1);
      }
    }
    const counts = [...seconds.values()];
    expect(counts.length).toBeGreaterThanOrEqual(4);
    expect(Math.max(...counts)).toBeLessThanOrEqual((3 * 10_000) / counts.length);
  }
});

test('a schedule that is used up, or that leads past the budget, ends it; jitter alone does not', () => {
  const one = { ...policy, pausesMs: [1000] };
  expect(nextSend(one, 2, failed(0, 0), 10_000)).toEqual({ kind: 'budget_spent' });
  expect(nextSend(one, 1, failed(9_500, 0), 10_000)).toEqual({ kind: 'budget_spent' });
  expect(nextSend(one, 1, failed(9_000, 0.99), 10_000)).toEqual({ kind: 'at', at: 10_000 });
  expect(nextSend(one, 1, failed(0, 0, 20_000), 10_000)).toEqual({ kind: 'retry_after_exceeds_budget' });
});

interface RetryAfterCase {
  given: {
    now: string;
    policy: { computedBackoffSeconds: number; maxRetryAfterSeconds: number };
    endpoint: { cases: { name: string; respond: { status: number; headers: [string, string][] } }[] };
  };
  expect: { byCase: Record<string, { retry: boolean; waitSeconds?: number }> };
}

const { given, expect: expected } = JSON.parse(
  readFileSync(new URL('../cases/retry-after-as-a-date.json', import.meta.url), 'utf8'),
) as RetryAfterCase;

test.each(given.endpoint.cases)('retry-after-as-a-date: $name', ({ name, respond }) => {
  const now = Date.parse(given.now);
  const { decision, retryAfter } = decide(respond.status);
  const wish = expected.byCase[name];
  expect(decision === 'retry').toBe(wish?.retry);
  if (!wish?.retry) return;
  const asked = retryAfter ? (retryAfterMs(respond.headers[0]?.[1] ?? '', now) ?? 0) : 0;
  const tenSeconds = { ...policy, pausesMs: [given.policy.computedBackoffSeconds * 1000] };
  const next = nextSend(tenSeconds, 1, { at: now, retryAfterMs: asked, random: 0 }, now + defaultElapsedMs);
  expect(next).toEqual({ kind: 'at', at: now + (wish.waitSeconds ?? 0) * 1000 });
});

test('a wait grows to a quarter of an hour and no further, whatever was asked', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      random,
      fc.integer({ min: 1, max: 10 ** 9 }),
      (waits, share, asked) => {
        const wait = deliveryWaitMs(waits, share, asked);
        expect(wait).toBeGreaterThanOrEqual(Math.min(asked, 15 * 60_000));
        expect(wait).toBeLessThanOrEqual(15 * 60_000 * 1.25 + 1);
      },
    ),
  );
});

test('the plan shows every attempt that is still to come, within the budget', () => {
  const plan = plannedSends(policy, 0, 1000, defaultElapsedMs);
  expect(plan).toHaveLength(11);
  expect(plan[0]).toBe(1000);
  expect(plan[1]).toBe(1000 + 5_000);
  expect(plannedSends({ ...policy, maximumElapsedMs: 60_000 }, 0, 0, 60_000)).toEqual([0, 5_000, 35_000]);
  expect(plannedSends(policy, 0, 99, 0)).toEqual([99]);
});
