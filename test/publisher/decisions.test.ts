import { expect, test } from 'vitest';
import { type Decision, decide, decisionTable } from '../../src/publisher/decisions.js';

/** The design's table, written a second time and otherwise: status by status. */
function expected(status: number): Decision {
  if (status >= 200 && status < 300) return 'delivered';
  if ([408, 425, 429].includes(status)) return 'retry';
  if (status === 410) return 'gone';
  return status >= 500 && status < 600 ? 'retry' : 'rejected';
}

test('every status from 0 to 999 has the decision of the design, and only what is retried reads Retry-After', () => {
  for (let status = 0; status <= 999; status++) {
    const { decision, retryAfter } = decide(status);
    expect({ status, decision }).toEqual({ status, decision: expected(status) });
    expect({ status, retryAfter }).toEqual({ status, retryAfter: decision === 'retry' });
  }
});

test('what is no status at all is no success', () => {
  for (const status of [Number.NaN, -1, 1000, Number.POSITIVE_INFINITY]) {
    expect(decide(status).decision).toBe('rejected');
  }
});

test('the last row takes what no other does', () => {
  expect(decisionTable.at(-1)).toMatchObject({ statuses: [], decision: 'rejected' });
});
