import { describe, expect, test } from 'vitest';
import type { EndpointHealth } from '../../src/ledger/endpoints-health/lock-health.js';
import { dueStep, healthStep } from '../../src/publisher/health-step.js';

const hour = 3_600_000;
const day = 24 * hour;
const since = new Date('2026-02-01T00:00:00Z');
const healthy: EndpointHealth = {
  state: 'enabled',
  stateCode: null,
  version: 1,
  stateAt: since,
  description: '',
  failingSince: undefined,
  failingMs: 0,
  notices: 0,
  noticedAt: undefined,
  noticedMs: Number.POSITIVE_INFINITY,
  goneUntold: false,
};

describe('an endpoint that only fails', () => {
  test.each([
    [0, day - 1, undefined],
    [0, day, 'notice'],
    [1, 3 * day - 1, undefined],
    [1, 3 * day, 'notice'],
    [2, 5 * day - 1, undefined],
    [2, 5 * day, 'disable'],
    [3, 50 * day, undefined],
  ])('after %i notices and %i ms of failures is due for %s', (notices, failingMs, step) => {
    expect(dueStep(notices, failingMs, Number.POSITIVE_INFINITY)).toBe(step);
  });

  test('is given a day to act on each notice, however long it has been failing', () => {
    expect(dueStep(0, 30 * day, Number.POSITIVE_INFINITY)).toBe('notice');
    expect(dueStep(1, 30 * day, day - 1)).toBeUndefined();
    expect(dueStep(1, 30 * day, day)).toBe('notice');
    expect(dueStep(2, 30 * day, day - 1)).toBeUndefined();
    expect(dueStep(2, 30 * day, day)).toBe('disable');
  });

  test('is not judged while a person holds it', () => {
    const failing = { ...healthy, failingSince: since, failingMs: 30 * day };
    expect(healthStep(failing)).toEqual({ step: 'notice', notice: 1, since });
    for (const state of ['paused', 'disabled', 'removed'] as const) {
      expect(healthStep({ ...failing, state })).toBeUndefined();
    }
  });
});

test('a recovery is told only where a notice had gone out', () => {
  expect(healthStep(healthy)).toBeUndefined();
  expect(healthStep({ ...healthy, notices: 2, noticedAt: since })).toEqual({
    step: 'tell_recovered',
    notices: 2,
    noticedAt: since,
  });
});

test('what a 410 disabled is told first', () => {
  expect(healthStep({ ...healthy, state: 'disabled', goneUntold: true, notices: 1 })).toEqual({ step: 'tell_gone' });
});
