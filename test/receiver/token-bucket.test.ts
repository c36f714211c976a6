import { expect, test } from 'vitest';
import { createTokenBucket } from '../../src/receiver/token-bucket.js';

function bucket(perSecond: number, burst: number) {
  let now = 0;
  const made = createTokenBucket({ perSecond, burst }, () => now);
  return {
    take: () => made.take(),
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test('a burst passes, and the next request is told to wait', () => {
  const { take } = bucket(2, 3);
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 1]);
});

test('tokens come back at the rate, and never beyond the burst', () => {
  const { take, pass } = bucket(2, 3);
  for (let count = 0; count < 3; count++) take();
  pass(499);
  expect(take()).toBeGreaterThan(0);
  pass(1);
  expect(take()).toBe(0);
  pass(3_600_000);
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 1]);
});

test('a slow rate asks for a long wait, in whole seconds rounded up', () => {
  const { take, pass } = bucket(0.1, 1);
  take();
  expect(take()).toBe(10);
  pass(2_500);
  expect(take()).toBe(8);
});
