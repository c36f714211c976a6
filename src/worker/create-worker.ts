import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { type InjectedSinks, Worker } from '@temporalio/worker';
import { createActivities } from '../activities/index.js';
import type { Catalogue } from '../effects/catalogue.js';
import type { RegisteredTx } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import { connectWorker, readSearchAttributes, type TemporalSettings } from '../runtime/temporal.js';
import type { LogSinks } from '../workflows/log-line.js';
import { ensureSweeper } from './ensure-sweeper.js';
import { installRuntime } from './install-runtime.js';
import { waitForLedger } from './wait-for-ledger.js';
import { workflowSource } from './workflow-source.js';

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
   * Attempts at once. Each holds a connection of the pool for its transaction, so the pool must be larger. Default 20.
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
 * After a kill each workflow that the dead worker had cached waits this long for it; nothing is lost by a short wait.
 */
const stickyWait = '2s';

/** Between the end of the grace and giving up on an attempt that ignores its signal. */
const forceAfterMs = 15_000;

/** Makes a worker; nothing is opened before it runs. */
export function createWorker(deps: WorkerDependencies, options: WorkerOptions = {}): OnefoldWorker {
  const stopping = new AbortController();
  let worker: Worker | undefined;
  return {
    async run() {
      let opened: OpenedWorker;
      try {
        opened = await open(deps, options, stopping.signal);
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
    },
    shutdown() {
      if (stopping.signal.aborted) return;
      stopping.abort(new Error('the worker is stopping'));
      if (worker) stop(worker);
    },
  };
}

function stop(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

interface OpenedWorker {
  readonly worker: Worker;
  readonly connection: { close(): Promise<void> };
}

async function open(deps: WorkerDependencies, options: WorkerOptions, signal: AbortSignal): Promise<OpenedWorker> {
  const { log, catalogue, ledger, metrics, client, namespace, taskQueue } = deps;
  installRuntime(log, options.ownSignals ?? false);
  await waitForLedger(ledger, log, signal);
  const connection = await connectWorker(deps.temporal, { log, signal });
  try {
    const searchAttributes = [...(await registeredAttributes(deps, signal))];
    await ensureSweeper(client, taskQueue).catch((error: Error) => {
      // A server without schedules, or a caller who may not make them: the rest works, and someone should know.
      log.warn({ reason: error.message, code: 'sweeper_missing' }, 'worker.without_sweeper');
    });
    const concurrency = options.concurrency ?? 20;
    const { dataConverter } = deps.temporal;
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowBundle: await workflowSource(),
      activities: createActivities({ catalogue, ledger, log, metrics, client, searchAttributes }),
      sinks: logSinks(log),
      ...(dataConverter ? { dataConverter } : {}),
      maxConcurrentActivityTaskExecutions: concurrency,
      maxConcurrentLocalActivityExecutions: concurrency,
      // A cancellation reaches an attempt with its next heartbeat, and the SDK would send those only every 8 s.
      maxHeartbeatThrottleInterval: '1s',
      stickyQueueScheduleToStartTimeout: stickyWait,
      shutdownGraceTime: options.shutdownGraceMs ?? 10_000,
      shutdownForceTime: (options.shutdownGraceMs ?? 10_000) + forceAfterMs,
    });
    return { worker, connection };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function registeredAttributes(deps: WorkerDependencies, signal: AbortSignal): Promise<ReadonlySet<string>> {
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      return await readSearchAttributes(deps.client, deps.namespace);
    } catch (error) {
      if (tries % 30 === 0) deps.log.warn({ reason: (error as Error).message }, 'temporal.waiting');
    }
    await sleep(1000, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

function logSinks(log: Logger): InjectedSinks<LogSinks> {
  return {
    onefold: {
      line: {
        callDuringReplay: false,
        fn: (_info, level, message, fields) => log[level](fields, message),
      },
    },
  };
}
