import type { Client } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import type { Catalogue } from '../effects/catalogue.js';
import type { RegisteredTx } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import type { TemporalSettings } from '../runtime/temporal.js';
import type { OpenedWorker } from './open-worker.js';

/** What a worker stands on. */
export interface WorkerDependencies {
  readonly catalogue: Catalogue;
  readonly ledger: Ledger<RegisteredTx>;
  readonly client: Client;
  readonly temporal: TemporalSettings;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Options of a worker. */
export interface WorkerOptions {
  /**
   * First attempts at once, and as many later ones beside them. Each holds a connection for its transaction, so the pool
   * must have at least twice as many. Default 15.
   */
  readonly concurrency?: number;
  /** How long a stopping worker lets running attempts end before it tells them to stop, ms. Default 10,000. */
  readonly shutdownGraceMs?: number;
  /** The process handles SIGTERM and SIGINT itself. Default false: the worker stops by them. */
  readonly ownSignals?: boolean;
  /** Called when the worker takes work. */
  readonly onReady?: () => void;
}

/** A worker: it plans events and carries their effects. */
export interface OnefoldWorker {
  /**
   * Waits for Temporal and PostgreSQL, then works until {@link shutdown}.
   *
   * @throws {OnefoldError} `migration_missing`, `config_missing`, `config_invalid`.
   */
  run(): Promise<void>;
  /** Takes no more work, lets the running attempts end within the grace, then makes {@link run} resolve. Safe to repeat. */
  shutdown(): void;
}

/**
 * By these the SDK stops a worker too, unless the process handles them. They are listened to here since a worker that is
 * still opening must end by them, and a stopping one tell its attempts.
 */
const stoppingSignals = ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const;

/** Makes a worker; nothing is opened before it runs. */
export function createWorker(deps: WorkerDependencies, options: WorkerOptions = {}): OnefoldWorker {
  const stopping = new AbortController();
  let worker: Worker | undefined;
  const shutdown = (): void => {
    if (stopping.signal.aborted) return;
    stopping.abort(new Error('the worker is stopping'));
    if (worker) stop(worker);
  };
  const run = async (): Promise<void> => {
    let opened: OpenedWorker;
    try {
      const { openWorker } = await import('./open-worker.js');
      opened = await openWorker(deps, options, stopping.signal);
    } catch (error) {
      if (stopping.signal.aborted) return;
      throw error;
    }
    worker = opened.worker;
    const running = worker.run();
    deps.log.info({ taskQueue: deps.taskQueue, namespace: deps.namespace }, 'worker.ready');
    options.onReady?.();
    // Asked to stop while it was opening: a worker can only be shut down once it runs.
    if (stopping.signal.aborted) stop(worker);
    await running.finally(() => opened.connection.close());
    deps.log.info({ taskQueue: deps.taskQueue }, 'worker.stopped');
  };
  return {
    async run() {
      const signals = options.ownSignals ? [] : stoppingSignals;
      for (const signal of signals) process.on(signal, shutdown);
      try {
        await run();
      } finally {
        for (const signal of signals) process.off(signal, shutdown);
      }
    },
    shutdown,
  };
}

function stop(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}
