import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { OnStep } from '../effects/attempt-steps.js';
import type { Effect, RegisteredTx } from '../effects/effect.js';
import type { Database } from '../ledger/database.js';
import { createOnefold, type Onefold } from '../onefold.js';
import { operationsContext } from '../operations/context.js';
import type { Progress } from '../runtime/embedded/progress.js';
import type { Logger } from '../runtime/logger.js';
import { registerSearchAttributes } from '../runtime/register-search-attributes.js';
import type { Source } from '../sources/define-source.js';
import { createWorker } from '../worker/create-worker.js';
import { installRuntime } from '../worker/install-runtime.js';
import { searchAttributeTypes } from '../workflows/contract.js';
import { type SkippedTime, skippedTimeOf } from './skipped-time.js';
import { startTemporal } from './start-temporal.js';
import { type Stop, stopAll } from './stop-all.js';

/** What a kit runs. */
export interface KitAppSettings {
  readonly sources: readonly Source[];
  readonly effects: readonly Effect[];
  readonly database: Database<RegisteredTx>;
  readonly schema: string;
  readonly timeSkippingServer: string | undefined;
  readonly log: Logger;
  readonly onStep: OnStep;
  readonly progress: Progress;
}

/** Temporal, and an application with its worker on it. */
export interface KitApp {
  readonly onefold: Onefold;
  readonly time: SkippedTime;
  stop(): Promise<void>;
}

/** Attempts that ignore their signal are not waited for longer when a test is over. */
const shutdownGraceMs = 1_000;

/** Starts a Temporal that skips time, with nothing in it, and a worker of the same code as in production. */
export async function startKitApp(settings: KitAppSettings): Promise<KitApp> {
  const { log } = settings;
  // Before the environment makes one of its own, which would write to standard error.
  installRuntime(log, { ownSignals: true, forwardCore: true });
  const environment = await startTemporal(settings.timeSkippingServer, settings.progress);
  const stops: Stop[] = [() => environment.teardown()];
  try {
    const onefold = openOnefold(settings, environment);
    stops.push(() => onefold.close());
    const { client, namespace } = onefold[operationsContext];
    await registerSearchAttributes(client, namespace, searchAttributeTypes);
    stops.push(await startWorker(onefold, settings.onStep));
    return { onefold, time: skippedTimeOf(environment), stop: () => stopAll(stops) };
  } catch (error) {
    await stopAll(stops);
    throw error;
  }
}

function openOnefold(settings: KitAppSettings, { address }: TestWorkflowEnvironment): Onefold {
  const { sources, effects, database, schema, log } = settings;
  return createOnefold({
    sources,
    effects,
    database,
    schema,
    taskQueue: 'onefold-test-kit',
    // Nothing of the user's own cluster may reach the kit: neither variables nor a profile.
    temporal: { address, namespace: 'default', tls: false, environment: {} },
    logger: log,
  });
}

async function startWorker(onefold: Onefold, onStep: OnStep): Promise<Stop> {
  const { catalogue, ledger, client, temporal, namespace, taskQueue, log, metrics } = onefold[operationsContext];
  let ready: () => void = () => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const worker = createWorker(
    { catalogue, ledger, client, temporal, namespace, taskQueue, log, metrics, onStep },
    { onReady: ready, shutdownGraceMs, ownSignals: true },
  );
  const running = worker.run();
  await Promise.race([isReady, running]);
  return async () => {
    worker.shutdown();
    await running;
  };
}
