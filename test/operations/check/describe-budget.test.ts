import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attemptPolicy, type RetryOptions } from '../../../src/effects/retry-options.js';
import { describeBudget } from '../../../src/operations/check/describe-budget.js';
import { backoffMs } from '../../../src/workflows/pauses.js';

function budget(retry: RetryOptions, attemptMs = 0) {
  return describeBudget(attemptPolicy(retry, 30_000, 'test'), attemptMs);
}

const hour = 3_600_000;

test('the defaults give up by elapsed time, long before their attempts are used up', () => {
  expect(budget({})).toMatchObject({ endsBy: 'elapsed', typicalMs: 72 * hour, longestMs: 72 * hour });
  expect(budget({}).text).toBe('gives up after 3 days, by then about 26 attempts');
});

test('attempts that fit into the elapsed time end the budget, typically after half the sum of the bounds', () => {
  const retry = { initialInterval: '1 hour', backoffCoefficient: 2, maximumInterval: '2 days', maximumAttempts: 8 };
  // 1 + 2 + 4 + 8 + 16 + 32 + 48 hours.
  expect(budget({ ...retry, maximumElapsed: '30 days' })).toMatchObject({
    endsBy: 'attempts',
    typicalMs: 55.5 * hour,
    longestMs: 111 * hour,
    typicalAttempts: 8,
    text: 'gives up after 8 attempts, about 2.3 days; at most 4.6 days',
  });
});

test('where only the longest pauses exceed the elapsed time, whichever comes first ends it', () => {
  const retry = { initialInterval: '1 hour', backoffCoefficient: 1, maximumAttempts: 5, maximumElapsed: '3 hours' };
  expect(budget(retry)).toMatchObject({
    endsBy: 'either',
    text: 'gives up after 5 attempts, about 2 hours; at most 3 hours',
  });
});

test('a pause that ends exactly with the elapsed time is still made, one that ends later is not', () => {
  const retry = { initialInterval: '1 hour', backoffCoefficient: 1, maximumAttempts: 3 };
  expect(budget({ ...retry, maximumElapsed: 2 * hour }).endsBy).toBe('attempts');
  expect(budget({ ...retry, maximumElapsed: 2 * hour - 1 }).endsBy).toBe('either');
});

test('the time that attempts take counts in the longest, not in the typical', () => {
  const retry = { initialInterval: '1 minute', backoffCoefficient: 1, maximumAttempts: 3 };
  expect(budget(retry, 60_000)).toMatchObject({ typicalMs: 60_000, longestMs: 4 * 60_000 });
});

test('a single attempt is said to be one', () => {
  expect(budget({ maximumAttempts: 1 })).toMatchObject({
    text: 'gives up after a single attempt',
    typicalMs: 0,
    longestMs: 0,
  });
});

test('what is reckoned is what the workflow does: no run of pauses is longer than the longest', () => {
  fc.assert(
    fc.property(
      fc.record({
        initialInterval: fc.integer({ min: 1, max: 100_000 }),
        backoffCoefficient: fc.double({ min: 1, max: 10, noNaN: true }),
        maximumAttempts: fc.integer({ min: 1, max: 50 }),
      }),
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 50, maxLength: 50 }),
      (retry, jitter) => {
        const policy = attemptPolicy({ ...retry, maximumElapsed: '365 days' }, 30_000, 'test');
        let elapsed = 0;
        for (let made = 1; made < policy.maximumAttempts; made++) {
          const delay = backoffMs(policy, made, jitter[made]!);
          if (elapsed + delay > policy.maximumElapsedMs) break;
          elapsed += delay;
        }
        // Each pause is rounded up to a whole ms.
        expect(elapsed).toBeLessThanOrEqual(describeBudget(policy, 0).longestMs + policy.maximumAttempts);
      },
    ),
  );
});
