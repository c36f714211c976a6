import type { Client } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import type { OnStep } from '../effects/attempt-steps.js';
import type { Catalogue } from '../effects/catalogue.js';
import type { RegisteredTx } from '../effects/effect.js';
import { checkLeaseAgainstGrace } from '../effects/lease.js';
import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import { refuseUnknownOptions } from '../runtime/options.js';
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
  /** Told of each step of an attempt at an external effect; for tests. */
  readonly onStep?: OnStep;
}

/** Options of a worker. */
export interface WorkerOptions {
  /**
   * First attempts at once, and as many later ones beside them, 1 to 1000. Each holds a connection for its transaction:
   * the built-in database gives the worker a pool of its own with {@link connectionsOf} as many, and a `database` given to
   * `createOnefold` needs as many. Default 15.
   */
  readonly concurrency?: number;
  /**
   * How long a stopping worker lets running attempts end before it tells them to stop, ms, 0 to an hour. Default 10,000.
   */
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

const known: readonly (keyof WorkerOptions)[] = ['concurrency', 'shutdownGraceMs', 'ownSignals', 'onReady'];

/** First attempts at once where nobody says: with the later ones, 30 connections of PostgreSQL's usual 100. */
export const defaultConcurrency = 15;

/** What most effects end within; orchestrators wait for 30 s or longer. */
export const defaultGraceMs = 10_000;

/** Timers beyond it are a mistake in the unit, and Node's end at 24.8 days. */
const longestGraceMs = 3_600_000;

/** For what a worker asks PostgreSQL outside of attempts: at its start, and when it sweeps. */
const spareConnections = 2;

/** PostgreSQL connections that a worker needs at most: one for each attempt, first or later, and two to spare. */
export function connectionsOf(options: Pick<WorkerOptions, 'concurrency'> = {}): number {
  return 2 * (options.concurrency ?? defaultConcurrency) + spareConnections;
}

/**
 * Makes a worker; nothing is opened before it runs.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault, or the effect whose lease the grace would outlast.
 */
export function createWorker(deps: WorkerDependencies, options: WorkerOptions = {}): OnefoldWorker {
  checkOptions(options);
  for (const effect of deps.catalogue.effects) {
    if (effect.kind === 'external') checkLeaseAgainstGrace(effect, options.shutdownGraceMs ?? defaultGraceMs);
  }
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

function checkOptions(options: WorkerOptions): void {
  refuseUnknownOptions(options, known, 'worker');
  const whole = (name: 'concurrency' | 'shutdownGraceMs', least: number, most: number): void => {
    const value: unknown = options[name];
    if (value === undefined || (Number.isInteger(value) && (value as number) >= least && (value as number) <= most))
      return;
    throw new OnefoldError(
      'config_invalid',
      `worker.${name}: expected a whole number from ${least} to ${most}, got ${String(value)}`,
    );
  };
  whole('concurrency', 1, 1000);
  whole('shutdownGraceMs', 0, longestGraceMs);
}
