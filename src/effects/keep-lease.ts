import { OnefoldError } from '../errors.js';
import type { HeldClaim } from '../ledger/held-claim.js';
import type { Ledger } from '../ledger/ledger.js';
import { renewLease } from '../ledger/renew-lease.js';

/** A lease that is renewed while its attempt runs. */
export interface KeptLease {
  /** Aborts when the lease is lost, or half a heartbeat before it ends where it could not be renewed. */
  readonly signal: AbortSignal;
  stop(): void;
}

/** How a lease is kept. */
export interface KeepLeaseOptions {
  readonly leaseMs: number;
  /** Undefined where the lease outlives the attempt, and nothing has to be done. */
  readonly heartbeatMs: number | undefined;
  /** The code that runs under it may act. */
  readonly acting: boolean;
  /** The recipient dedupes on the key, as far as this code declares. */
  readonly forwardsKey: boolean;
  /** When it was asked whether the claim is ours, and the answer was yes; Unix ms. */
  readonly confirmedAt: number;
}

/**
 * How long before the end of its lease the code is told to stop, in heartbeats: after the beat that follows a failed one,
 * and early enough for a client that listens.
 */
const stopBefore = 1 / 2;

/**
 * Keeps the lease of a heartbeating effect up while its code runs. Where a beat finds the claim taken, or PostgreSQL stays
 * away until the lease is nearly over, the signal aborts: the code must end before another attempt may begin.
 */
export function keepLease(ledger: Ledger, claim: HeldClaim, options: KeepLeaseOptions): KeptLease {
  const { leaseMs, heartbeatMs, acting, forwardsKey } = options;
  const controller = new AbortController();
  if (heartbeatMs === undefined) return { signal: controller.signal, stop() {} };
  const lose = (why: string): void => controller.abort(new OnefoldError('effect_superseded', why));
  // A timer of its own: the beat at which it is too late may be that at which the lease ends, and a beat may hang.
  let giveUp: NodeJS.Timeout | undefined;
  const renewed = (at: number): void => {
    clearTimeout(giveUp);
    const leftMs = at + leaseMs - heartbeatMs * stopBefore - Date.now();
    giveUp = setTimeout(() => lose('the lease could not be renewed in time'), Math.max(0, leftMs));
  };
  let beating = false;
  const beat = async (): Promise<void> => {
    // Counted from when it was asked: an answer that was read late says nothing about now.
    const askedAt = Date.now();
    if (beating || controller.signal.aborted) return;
    beating = true;
    try {
      if (await renewLease(ledger.database.query, ledger.schema, claim, { leaseMs, acting, forwardsKey }))
        renewed(askedAt);
      else lose('the lease was taken by another attempt');
    } catch {
      // PostgreSQL is away; the next beat tries again, and the timer ends it.
    } finally {
      beating = false;
    }
  };
  renewed(options.confirmedAt);
  const timer = setInterval(() => void beat(), heartbeatMs);
  return {
    signal: controller.signal,
    stop() {
      clearInterval(timer);
      clearTimeout(giveUp);
    },
  };
}
