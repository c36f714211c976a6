import { OnefoldError } from '../errors.js';
import type { HeldClaim } from '../ledger/held-claim.js';
import type { Ledger } from '../ledger/ledger.js';
import { renewLease } from '../ledger/renew-lease.js';

/** A lease that is renewed while its attempt runs. */
export interface KeptLease {
  /** Aborts when the lease is lost, or can no longer be renewed before it ends. */
  readonly signal: AbortSignal;
  stop(): void;
}

/**
 * Keeps the lease of a heartbeating effect up while its code runs. Where a beat finds the claim taken, or PostgreSQL stays
 * away until the lease is nearly over, the signal aborts: the code must end before another attempt may begin.
 */
export function keepLease(
  ledger: Ledger,
  claim: HeldClaim,
  lease: { readonly leaseMs: number; readonly heartbeatMs: number | undefined; readonly acting: boolean },
): KeptLease {
  const { leaseMs, heartbeatMs, acting } = lease;
  const controller = new AbortController();
  if (heartbeatMs === undefined) return { signal: controller.signal, stop() {} };
  let renewedAt = Date.now();
  let beating = false;
  const lose = (why: string): void => controller.abort(new OnefoldError('effect_superseded', why));
  const beat = async (): Promise<void> => {
    const began = Date.now();
    // Also where a beat hangs, or the process was frozen: the clock alone decides.
    if (began - renewedAt > leaseMs - heartbeatMs) lose('the lease could not be renewed in time');
    if (beating || controller.signal.aborted) return;
    beating = true;
    try {
      if (await renewLease(ledger.database.query, ledger.schema, claim, { leaseMs, acting })) renewedAt = began;
      else lose('the lease was taken by another attempt');
    } catch {
      // PostgreSQL is away; the next beat tries again, and the clock ends it.
    } finally {
      beating = false;
    }
  };
  const timer = setInterval(() => void beat(), heartbeatMs);
  return { signal: controller.signal, stop: () => clearInterval(timer) };
}
