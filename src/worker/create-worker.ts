import type { Client } from '@temporalio/client';
import type { OnSendStep } from '../activities/delivery-activities.js';
import type { OnStep } from '../effects/attempt-steps.js';
import type { Catalogue } from '../effects/catalogue.js';
import type { RegisteredTx } from '../effects/effect.js';
import { checkLeaseAgainstGrace } from '../effects/lease.js';
import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import type { EgressRules } from '../runtime/egress-rules.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import type { Sealer } from '../runtime/seal.js';
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
  /** Present where the application publishes. */
  readonly publishing?: WorkerPublishing;
}

/** What deliveries need beside the rest. */
export interface WorkerPublishing {
  /** Connections of its own, so that deliveries that wait for each other take none from the events. */
  readonly ledger?: Ledger<RegisteredTx>;
  readonly sealer: Sealer;
  readonly egressRules: EgressRules;
  /** Told of each step of an attempt; for tests. */
  readonly onSendStep?: OnSendStep;
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
  /**
   * Requests to endpoints at once, 1 to 1000; where the application publishes. They hold no PostgreSQL connection while
   * they wait for an answer. Default 200, so that many endpoints may hang at once before others notice.
   */
  readonly sends?: number;
  /** Run a relay beside, where the application publishes. Default true; false where `onefold relay` runs elsewhere. */
  readonly relay?: boolean;
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

const known: readonly (keyof WorkerOptions)[] = [
  'concurrency',
  'shutdownGraceMs',
  'sends',
  'relay',
  'ownSignals',
  'onReady',
];

/** First attempts at once where nobody says: with the later ones, 30 connections of PostgreSQL's usual 100. */
export const defaultConcurrency = 15;

/** What most effects end within; orchestrators wait for 30 s or longer. */
export const defaultGraceMs = 10_000;

/** Timers beyond it are a mistake in the unit, and Node's end at 24.8 days. */
const longestGraceMs = 3_600_000;

/** Requests to endpoints at once where nobody says. */
export const defaultSends = 200;

/** For what a worker asks PostgreSQL outside of attempts: at its start, and when it sweeps. */
const spareConnections = 2;

/** Of the worker's deliveries and its relay: they run short statements only, so a few serve many. */
export const publishingConnections = 10;

/** A statement of theirs that waits longer for a row has met somebody who holds it by hand, ms; it is tried again. */
export const publishingLockMs = 2_000;

/**
 * PostgreSQL connections that a worker's events need at most: one for each attempt, first or later, and two to spare. Where
 * the application publishes, {@link publishingConnections} more of their own.
 */
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
  let opened: OpenedWorker | undefined;
  const shutdown = (): void => {
    if (stopping.signal.aborted) return;
    stopping.abort(new Error('the worker is stopping'));
    opened?.stop();
  };
  const run = async (): Promise<void> => {
    try {
      const { openWorker } = await import('./open-worker.js');
      opened = await openWorker(deps, options, stopping.signal);
    } catch (error) {
      if (stopping.signal.aborted) return;
      throw error;
    }
    const running = opened.run();
    deps.log.info({ taskQueue: deps.taskQueue, namespace: deps.namespace }, 'worker.ready');
    options.onReady?.();
    // Asked to stop while it was opening: a worker can only be shut down once it runs.
    if (stopping.signal.aborted) opened.stop();
    await running;
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

function checkOptions(options: WorkerOptions): void {
  refuseUnknownOptions(options, known, 'worker');
  const whole = (name: 'concurrency' | 'shutdownGraceMs' | 'sends', least: number, most: number): void => {
    const value: unknown = options[name];
    if (value === undefined || (Number.isInteger(value) && (value as number) >= least && (value as number) <= most))
      return;
    throw new OnefoldError(
      'config_invalid',
      `worker.${name}: expected a whole number from ${least} to ${most}, got ${String(value)}`,
    );
  };
  whole('concurrency', 1, 1000);
  whole('sends', 1, 1000);
  whole('shutdownGraceMs', 0, longestGraceMs);
}
