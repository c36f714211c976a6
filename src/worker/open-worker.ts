import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type InjectedSinks, Worker } from '@temporalio/worker';
import { createActivities } from '../activities/index.js';
import type { Logger } from '../runtime/logger.js';
import { connectWorker, readSearchAttributes } from '../runtime/temporal.js';
import type { LogSinks } from '../workflows/log-line.js';
import { defaultConcurrency, defaultGraceMs, type WorkerDependencies, type WorkerOptions } from './create-worker.js';
import { ensureSweeper } from './ensure-sweeper.js';
import { installRuntime } from './install-runtime.js';
import { waitForLedger } from './wait-for-ledger.js';
import { workflowSource } from './workflow-source.js';

/**
 * After a kill each workflow that the dead worker had cached waits this long for it; nothing is lost by a short wait.
 */
const stickyWait = '2s';

/** Between the end of the grace and giving up on an attempt that ignores its signal. */
const forceAfterMs = 15_000;

/** A worker that is about to run, and the connection it runs on. */
export interface OpenedWorker {
  readonly worker: Worker;
  readonly connection: { close(): Promise<void> };
}

/**
 * Waits for Temporal and PostgreSQL, then makes the SDK's worker. In a module of its own, so that a process which only
 * receives never loads the native code.
 *
 * @throws {OnefoldError} `migration_missing`; the signal's reason when aborted.
 */
export async function openWorker(
  deps: WorkerDependencies,
  options: WorkerOptions,
  signal: AbortSignal,
): Promise<OpenedWorker> {
  const { log, catalogue, ledger, metrics, client, namespace, taskQueue } = deps;
  installRuntime(log, options);
  await waitForLedger(ledger, log, signal);
  const connection = await connectWorker(deps.temporal, { log, signal });
  try {
    const searchAttributes = [...(await registeredAttributes(deps, signal))];
    await ensureSweeper(client, taskQueue).catch((error: Error) => {
      // A server without schedules, or a caller who may not make them: the rest works, and someone should know.
      log.warn({ reason: error.message, code: 'sweeper_missing' }, 'worker.without_sweeper');
    });
    const concurrency = options.concurrency ?? defaultConcurrency;
    const graceMs = options.shutdownGraceMs ?? defaultGraceMs;
    const { dataConverter } = deps.temporal;
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowBundle: await workflowSource(),
      activities: createActivities({
        catalogue,
        ledger,
        log,
        metrics,
        client,
        searchAttributes,
        graceOver: afterGrace(signal, graceMs),
        ...(deps.onStep ? { onStep: deps.onStep } : {}),
      }),
      sinks: logSinks(log),
      ...(dataConverter ? { dataConverter } : {}),
      maxConcurrentActivityTaskExecutions: concurrency,
      maxConcurrentLocalActivityExecutions: concurrency,
      // A cancellation reaches an attempt with its next heartbeat, and the SDK would send those only every 8 s.
      maxHeartbeatThrottleInterval: '1s',
      stickyQueueScheduleToStartTimeout: stickyWait,
      shutdownGraceTime: graceMs,
      shutdownForceTime: graceMs + forceAfterMs,
    });
    return { worker, connection };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** A signal that aborts some time after another one. */
function afterGrace(stopping: AbortSignal, graceMs: number): AbortSignal {
  const over = new AbortController();
  // Every running attempt listens, and from eleven on Node would warn of a leak.
  setMaxListeners(0, over.signal);
  stopping.addEventListener('abort', () => void setTimeout(() => over.abort(), graceMs).unref(), { once: true });
  return over.signal;
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
