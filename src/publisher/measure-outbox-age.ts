import type { Ledger } from '../ledger/ledger.js';
import { measureOutbox } from '../ledger/publishing-checks/measure-outbox.js';
import { relayWindow } from './relay-window.js';

/** What shows the age of the outbox. */
export interface OutboxAgeGauge {
  set(seconds: number): void;
  /** Shows nothing, as where it is not known. */
  remove(): void;
}

/** Between two measurements, ms: an alert looks at minutes, and each costs a look at every queue. */
const everyMs = 5_000;

/** Queues that are looked at; in a larger outbox some do not count. */
const queues = 1_000;

/**
 * Makes what keeps the gauge up to date: it may be called as often as one likes, and measures every five seconds at most.
 * What waits since its endpoint is behind, as a paused one, is not the relay's to start and does not count. Where the ledger
 * cannot be asked, the number is absent rather than old.
 */
export function createOutboxAge(ledger: Ledger, gauge: OutboxAgeGauge | undefined): () => Promise<void> {
  let measuredAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (!gauge || performance.now() - measuredAt < everyMs) return;
    measuredAt = performance.now();
    try {
      const look = { overdueMs: 0, window: relayWindow, queues, perQueue: 1 };
      const { oldestMs } = await measureOutbox(ledger.database.query, ledger.schema, look);
      gauge.set(oldestMs / 1000);
    } catch {
      gauge.remove();
    }
  };
}
