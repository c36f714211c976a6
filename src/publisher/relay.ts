import type { Client } from '@temporalio/client';
import { isLedgerMissing } from '../effects/is-ledger-missing.js';
import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import { outboxChannel } from '../ledger/publications/outbox-channel.js';
import { type QueuePlace, takeQueued } from '../ledger/publications/take-queued.js';
import type { Logger } from '../runtime/logger.js';
import { createRegisteredAttributes } from '../runtime/registered-attributes.js';
import { announceHealth } from './endpoint-health.js';
import { createOutboxAge } from './measure-outbox-age.js';
import { createRelayWaits } from './relay-waits.js';
import { relayQueues, relayWindow } from './relay-window.js';
import { leaseMs, type OnRelayStep, type RelayMetrics, startTaken } from './start-taken.js';
import { tellChanges } from './tell-changes.js';

/** What a relay stands on. */
export interface RelayDependencies {
  readonly ledger: Ledger;
  readonly client: Client;
  readonly namespace: string;
  /** The application's; deliveries have one of their own beside it. */
  readonly taskQueue: string;
  readonly log: Logger;
  readonly metrics?: RelayMetrics;
  /** Done beside the relaying, each at most once a second and never twice at once; what they throw is logged. */
  readonly extras?: readonly ((signal: AbortSignal) => Promise<void>)[];
  /** Told of each step; for tests. */
  readonly onStep?: OnRelayStep;
  /** The process is told when the relay works for the first time. */
  readonly onReady?: () => void;
}

/** A relay: it starts the workflows of what was published. Any number may run side by side. */
export interface Relay {
  /**
   * Relays until {@link shutdown}. While PostgreSQL or Temporal is away it waits.
   *
   * @throws {OnefoldError} `migration_missing`, where the ledger is not there when it begins.
   */
  run(): Promise<void>;
  /** Takes no more, lets the starts under way end, then makes {@link run} resolve. Safe to repeat. */
  shutdown(): void;
}

/** Deliveries of one turn: few enough that they are started long before their lease is over. */
const batchLimit = 100;

/** Of each queue, however many there are: so that a turn with many queues still starts something of each. */
const leastPerQueue = 4;

/** Between two looks where nothing wakes it, ms: what finds the notifications that were missed. */
const pollMs = 1_000;

/** Between two looks while queues wait for their endpoints to catch up, ms; it doubles up to the poll. */
const behindMs = 50;

/** Between two beginnings of one extra, ms. */
const extrasEveryMs = 1_000;

/**
 * Makes a relay; nothing is opened before it runs.
 *
 * | state of a delivery | what moves it on | what a crash leaves |
 * |---|---|---|
 * | queued | taken under a lease | it is taken again |
 * | queued, leased | its workflow is started | the lease runs out; it is taken again, and the start finds what was started |
 * | queued, leased, workflow started | it is marked as started | the same |
 * | started, or ended | nothing of the relay's | nothing: it is not looked at again, whatever Temporal has forgotten |
 */
export function createRelay(deps: RelayDependencies): Relay {
  const { ledger, log } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const attributes = createRegisteredAttributes(deps);
  const waits = createRelayWaits(log, signal);
  let ready = false;
  let after: QueuePlace | undefined;
  let queues = 1;
  let takenInPass = 0;
  let behind = behindMs;
  const tell = (stop: AbortSignal): Promise<void> => tellChanges(deps, stop);
  const measureAge = createOutboxAge(ledger, deps.metrics?.outboxAge);
  const extras = [tell, () => announceHealth(deps), measureAge, ...(deps.extras ?? [])].map((extra) => {
    let begunAt = Number.NEGATIVE_INFINITY;
    let running: Promise<void> | undefined;
    return {
      begin: (): void => {
        if (running || performance.now() - begunAt < extrasEveryMs) return;
        begunAt = performance.now();
        running = extra(signal)
          .catch((error: Error) => {
            if (!signal.aborted) log.warn({ reason: error.message }, 'relay.extra_failed');
          })
          .finally(() => {
            running = undefined;
          });
      },
      ended: async (): Promise<void> => running,
    };
  });

  /** @returns How long there is nothing to do, ms. */
  const turn = async (): Promise<number> => {
    const takenAt = Date.now();
    // While Temporal is away one delivery is enough to find out whether it is back.
    const limit = waits.failed('temporal') ? 1 : batchLimit;
    const batch = await takeQueued(ledger.database.query, ledger.schema, {
      after,
      limit,
      queues: relayQueues,
      perQueue: Math.max(leastPerQueue, Math.ceil(limit / Math.max(1, queues))),
      window: relayWindow,
      leaseMs,
    });
    waits.succeeded('postgres');
    if (!ready) {
      ready = true;
      log.info({ taskQueue: deps.taskQueue, namespace: deps.namespace }, 'relay.ready');
      deps.onReady?.();
    }
    after = batch.next;
    queues = batch.queues;
    takenInPass += batch.deliveries.length;
    if (batch.deliveries.length > 0) {
      await startTaken({ ...deps, attributes, waits, signal }, batch.deliveries, takenAt);
    }
    if (after !== undefined) return 0;
    const took = takenInPass > 0;
    takenInPass = 0;
    if (took) {
      behind = behindMs;
      return 0;
    }
    if (queues === 0) return pollMs;
    const pauseMs = behind;
    behind = Math.min(behind * 2, pollMs);
    return pauseMs;
  };

  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      for (const extra of extras) extra.begin();
      let idleMs: number;
      try {
        idleMs = await turn();
      } catch (error) {
        if (!ready && isLedgerMissing(error)) throw missing(ledger, error);
        // Whatever was taken is still queued under its lease.
        await waits.failure('postgres', error);
        continue;
      }
      await waits.pauseAfterFailure();
      if (idleMs > 0) await waits.idle(idleMs);
    }
  };

  return {
    async run() {
      const listening = ledger.database
        .listen?.(outboxChannel(ledger.schema), waits.wake)
        .catch((error: Error) => void log.warn({ reason: error.message }, 'relay.not_listening'));
      try {
        await loop();
      } finally {
        stopping.abort();
        await Promise.all(extras.map(({ ended }) => ended()));
        // It is no news of a relay any more.
        deps.metrics?.outboxAge?.remove();
        const stopListening = await listening;
        await stopListening?.();
      }
      log.info({ taskQueue: deps.taskQueue }, 'relay.stopped');
    },
    shutdown() {
      stopping.abort(new Error('the relay is stopping'));
    },
  };
}

function missing(ledger: Ledger, cause: unknown): OnefoldError {
  const message = `the ledger ${ledger.schema} has no publications yet: run onefold migrate`;
  return new OnefoldError('migration_missing', message, { cause });
}
