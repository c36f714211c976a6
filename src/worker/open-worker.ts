import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type InjectedSinks,
  type NativeConnection,
  type WorkerOptions as SdkWorkerOptions,
  Worker,
} from '@temporalio/worker';
import { createDeliveryActivities } from '../activities/delivery-activities.js';
import { createActivities } from '../activities/index.js';
import type { OnefoldError } from '../errors.js';
import { createTenantEgress } from '../publisher/egress/tenant-egress.js';
import { createRelay, type Relay } from '../publisher/relay.js';
import type { Logger } from '../runtime/logger.js';
import { connectWorker, readSearchAttributes } from '../runtime/temporal.js';
import { deliveryTaskQueue } from '../workflows/delivery-contract.js';
import type { LogSinks } from '../workflows/log-line.js';
import {
  defaultConcurrency,
  defaultGraceMs,
  defaultSends,
  type WorkerDependencies,
  type WorkerOptions,
  type WorkerPublishing,
} from './create-worker.js';
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

/** What is about to run: the worker of events and, where the application publishes, that of deliveries and a relay. */
export interface OpenedWorker {
  /** Resolves when all of it has stopped, and its connections are closed. */
  run(): Promise<void>;
  /** Takes no more work and lets running attempts end; safe to repeat. */
  stop(): void;
}

/**
 * Waits for Temporal and PostgreSQL, then makes the SDK's workers. In a module of its own, so that a process which only
 * receives never loads the native code.
 *
 * @throws {OnefoldError} `migration_missing`; the signal's reason when aborted.
 */
export async function openWorker(
  deps: WorkerDependencies,
  options: WorkerOptions,
  signal: AbortSignal,
): Promise<OpenedWorker> {
  const { log, catalogue, ledger, metrics, client, taskQueue } = deps;
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
    const graceOver = afterGrace(signal, graceMs);
    const shared = await sharedOptions(deps, connection, graceMs);
    const events = await Worker.create({
      ...shared,
      taskQueue,
      activities: createActivities({
        catalogue,
        ledger,
        log,
        metrics,
        client,
        searchAttributes,
        graceOver,
        ...(deps.onStep ? { onStep: deps.onStep } : {}),
      }),
      maxConcurrentActivityTaskExecutions: concurrency,
      maxConcurrentLocalActivityExecutions: concurrency,
    });
    const publishing = deps.publishing && (await openPublishing(deps, deps.publishing, options, shared, graceOver));
    return joined(events, publishing, connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** What the workers of events and of deliveries have in common. */
async function sharedOptions(deps: WorkerDependencies, connection: NativeConnection, graceMs: number) {
  const { dataConverter } = deps.temporal;
  return {
    connection,
    namespace: deps.namespace,
    workflowBundle: await workflowSource(),
    sinks: logSinks(deps.log),
    ...(dataConverter ? { dataConverter } : {}),
    // A cancellation reaches an attempt with its next heartbeat, and the SDK would send those only every 8 s.
    maxHeartbeatThrottleInterval: '1s',
    stickyQueueScheduleToStartTimeout: stickyWait,
    shutdownGraceTime: graceMs,
    shutdownForceTime: graceMs + forceAfterMs,
  } as const satisfies Partial<SdkWorkerOptions>;
}

/** Deliveries have a task queue and slots of their own: a flood of them takes none from the events. */
async function openPublishing(
  deps: WorkerDependencies,
  publishing: WorkerPublishing,
  options: WorkerOptions,
  shared: Awaited<ReturnType<typeof sharedOptions>>,
  graceOver: AbortSignal,
): Promise<OpenedPublishing> {
  const { log, metrics, client, namespace, taskQueue } = deps;
  const ledger = publishing.ledger ?? deps.ledger;
  tellMissingKeys(deps, publishing);
  const egress = createTenantEgress(publishing.egressRules);
  const worker = await Worker.create({
    ...shared,
    taskQueue: deliveryTaskQueue(taskQueue),
    activities: createDeliveryActivities({
      ledger,
      client,
      log,
      metrics,
      egress,
      sealer: publishing.sealer,
      graceOver,
      ...(publishing.onSendStep ? { onSendStep: publishing.onSendStep } : {}),
    }),
    maxConcurrentActivityTaskExecutions: options.sends ?? defaultSends,
  });
  const relay =
    options.relay === false ? undefined : createRelay({ ledger, client, namespace, taskQueue, log, metrics });
  return { worker, relay, egress };
}

/** The rest of the worker works without them, and another one may have them; but here nothing will be sent. */
function tellMissingKeys({ log }: WorkerDependencies, { sealer }: WorkerPublishing): void {
  try {
    void sealer.currentKey;
  } catch (error) {
    const { code, message } = error as OnefoldError;
    log.error({ code, reason: message }, 'worker.cannot_send');
  }
}

interface OpenedPublishing {
  readonly worker: Worker;
  readonly relay: Relay | undefined;
  readonly egress: { close(): Promise<void> };
}

/** Runs all of it as one: where one part fails the others stop, and the failure is what `run` rejects with. */
function joined(
  events: Worker,
  publishing: OpenedPublishing | undefined,
  connection: { close(): Promise<void> },
): OpenedWorker {
  const workers = publishing ? [events, publishing.worker] : [events];
  const stop = (): void => {
    publishing?.relay?.shutdown();
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  return {
    stop,
    async run() {
      const parts = [...workers.map((worker) => worker.run()), ...(publishing?.relay ? [publishing.relay.run()] : [])];
      for (const part of parts) part.catch(stop);
      const ended = await Promise.allSettled(parts);
      await publishing?.egress.close();
      await connection.close();
      for (const part of ended) if (part.status === 'rejected') throw part.reason;
    },
  };
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
