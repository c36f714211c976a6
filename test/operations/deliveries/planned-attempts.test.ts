import { expect, test } from 'vitest';
import { plannedAttempts } from '../../../src/operations/deliveries/planned-attempts.js';

const minuteMs = 60_000;
const policy = { pausesMs: [minuteMs, 10 * minuteMs, 60 * minuteMs], maximumElapsedMs: 30 * minuteMs, timeoutMs: 1000 };

/** Minutes after the beginning of 1970. */
const minutes = (plan: readonly string[]) => plan.map((at) => Date.parse(at) / minuteMs);

test('from the beginning: each attempt follows its pause, as long as the elapsed budget lasts', () => {
  const { attempts, givesUpAt, from } = plannedAttempts(policy, { made: 0, dueAt: 0, budgetFrom: 0 });
  expect({ attempts: minutes(attempts), givesUpAt: minutes([givesUpAt]), from }).toEqual({
    attempts: [0, 1, 11],
    givesUpAt: [30],
    from: 'policy',
  });
});

test('after some attempts: the rest of the schedule', () => {
  const { attempts } = plannedAttempts(policy, { made: 2, dueAt: 20 * minuteMs, budgetFrom: 0 });
  expect(minutes(attempts)).toEqual([20]);
  const longer = { ...policy, maximumElapsedMs: 100 * minuteMs };
  expect(minutes(plannedAttempts(longer, { made: 2, dueAt: 20 * minuteMs, budgetFrom: 0 }).attempts)).toEqual([20, 80]);
  expect(plannedAttempts(longer, { made: 4, dueAt: 90 * minuteMs, budgetFrom: 0 }).attempts).toEqual([]);
});

test('one attempt is planned where the budget was over before the first, and none after it', () => {
  const late = 31 * minuteMs;
  expect(minutes(plannedAttempts(policy, { made: 0, dueAt: late, budgetFrom: 0 }).attempts)).toEqual([31]);
  expect(plannedAttempts(policy, { made: 1, dueAt: late, budgetFrom: 0 }).attempts).toEqual([]);
});
