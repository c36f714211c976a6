import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepLease } from '../../src/effects/keep-lease.js';
import type { SqlResult } from '../../src/ledger/database.js';
import type { HeldClaim } from '../../src/ledger/held-claim.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { schemaName } from '../../src/ledger/schema-name.js';

const claim: HeldClaim = { tenant: '', businessKey: 'charge:1', owner: 'one', rows: [{ effect: 'charge', fence: 1 }] };
const lease = { leaseMs: 1500, heartbeatMs: 500, acting: true, forwardsKey: true };
const database = pgDatabase({ connectionString: 'postgres://nobody@localhost/nothing' });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function keep(renew: () => Promise<SqlResult<never>>) {
  return keepLease({ database: { ...database, query: renew as never }, schema: schemaName('onefold') }, claim, {
    ...lease,
    confirmedAt: Date.now(),
  });
}

test.each([
  ['fails', () => Promise.reject(new Error('PostgreSQL is away'))],
  ['hangs', () => new Promise<never>(() => {})],
])('an attempt whose renewal %s is told to stop half a heartbeat before its lease is over', async (_what, renew) => {
  const kept = keep(renew);
  await vi.advanceTimersByTimeAsync(lease.leaseMs - lease.heartbeatMs / 2 + 1);
  expect(kept.signal.aborted).toBe(true);
  kept.stop();
});

test('an attempt whose renewals succeed is never told to stop', async () => {
  const kept = keep(async () => ({ rows: [], rowCount: 1 }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kept.signal.aborted).toBe(false);
  kept.stop();
});
