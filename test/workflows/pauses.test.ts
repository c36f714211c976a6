import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attemptPolicy } from '../../src/effects/retry-options.js';
import { backoffMs, inWords, leaseWaitMs, waitMs } from '../../src/workflows/pauses.js';

const policy = attemptPolicy(undefined, 30_000, 'test');
const anyPolicy = fc.record({
  initialIntervalMs: fc.integer({ min: 1, max: 86_400_000 }),
  backoffCoefficient: fc.double({ min: 1, max: 100, noNaN: true }),
  maximumIntervalMs: fc.integer({ min: 1, max: 86_400_000 }),
});
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const attempts = fc.integer({ min: 1, max: 10_000 });

test('a pause lies between nothing and the bound of its attempt', () => {
  fc.assert(
    fc.property(anyPolicy, attempts, random, (some, attempt, share) => {
      const pause = backoffMs(some, attempt, share);
      const bound = Math.min(some.maximumIntervalMs, some.initialIntervalMs * some.backoffCoefficient ** (attempt - 1));
      expect(Number.isSafeInteger(pause)).toBe(true);
      expect(pause).toBeGreaterThanOrEqual(0);
      expect(pause).toBeLessThanOrEqual(Math.ceil(bound));
    }),
  );
});

test('jitter goes upward from a Retry-After, by a quarter of it at most', () => {
  fc.assert(
    fc.property(anyPolicy, attempts, random, fc.integer({ min: 1, max: 86_400_000 }), (some, attempt, share, after) => {
      const pause = backoffMs(some, attempt, share, after);
      expect(pause).toBeGreaterThanOrEqual(after);
      expect(pause).toBeLessThanOrEqual(Math.ceil(after * 1.25));
    }),
  );
});

test('ten thousand events that failed together come back spread: no second has more than three times the mean', () => {
  for (const attempt of [3, 4, 5, 8, 12]) {
    const seconds = new Map<number, number>();
    const bound = Math.min(
      policy.maximumIntervalMs,
      policy.initialIntervalMs * policy.backoffCoefficient ** (attempt - 1),
    );
    for (let event = 0; event < 10_000; event++) {
      const second = Math.floor(backoffMs(policy, attempt, Math.random()) / 1000);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    }
    const mean = 10_000 / (bound / 1000);
    // Where the mean is below one, chance alone puts a few into one second.
    expect(Math.max(...seconds.values())).toBeLessThan(Math.max(3 * mean, 12));
  }
});

test('waits grow by half each to a quarter of an hour, or to what was asked for', () => {
  expect([1, 2, 3].map((waits) => waitMs(waits, 0))).toEqual([1000, 1500, 2250]);
  expect(waitMs(60, 0)).toBe(15 * 60_000);
  expect(waitMs(10_000, 0)).toBe(15 * 60_000);
  expect(waitMs(60, 0, 3_600_000)).toBe(3_600_000);
  fc.assert(
    fc.property(attempts, random, fc.integer({ min: 1, max: 86_400_000 }), (waits, share, asked) => {
      const pause = waitMs(waits, share, asked);
      expect(pause).toBeGreaterThanOrEqual(asked);
      expect(pause).toBeLessThanOrEqual(Math.ceil(Math.max(15 * 60_000, asked) * 1.25));
    }),
  );
});

test.each([
  [0, '0.0 s'],
  [8400, '8.4 s'],
  [59_999, '60.0 s'],
  [60_000, '1 min'],
  [9_000_000, '2.5 h'],
])('%i ms reads %s', (ms, words) => {
  expect(inWords(ms)).toBe(words);
});

test('a wait for a lease is never over before it, comes soon after it, and grows where it is renewed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3_600_000 }), attempts, random, (leaseLeftMs, waits, share) => {
      expect(leaseWaitMs(waits, share, leaseLeftMs)).toBeGreaterThanOrEqual(leaseLeftMs);
    }),
  );
  expect(leaseWaitMs(1, 0.999, 40_000)).toBeLessThanOrEqual(40_500);
  expect(leaseWaitMs(12, 0, 3000)).toBeGreaterThan(60_000);
});
