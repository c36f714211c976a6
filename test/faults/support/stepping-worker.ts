import { inject } from 'vitest';
import type { OnStep } from '../../../src/effects/attempt-steps.js';
import { createCatalogue } from '../../../src/effects/catalogue.js';
import type { Ledger } from '../../../src/ledger/ledger.js';
import type { PgTransaction } from '../../../src/ledger/pg-database.js';
import { createLogger } from '../../../src/runtime/logger.js';
import { createWorker, type OnefoldWorker } from '../../../src/worker/create-worker.js';
import type { Configuration, Harness } from '../../setup/harness.js';

/** What a worker of a test does otherwise than that of its harness. */
export interface Stepping {
  readonly onStep?: OnStep;
  /** Stands between the worker and its database. */
  readonly ledger?: Ledger<PgTransaction>;
}

/** Starts a worker on the queue and database of a harness which tells of its steps. @returns What stops it. */
export async function startSteppingWorker(
  harness: Harness,
  { sources, effects }: Configuration,
  { onStep, ledger = harness.ledger }: Stepping,
): Promise<() => Promise<void>> {
  let worker: OnefoldWorker;
  let run: Promise<void> | undefined;
  await new Promise<void>((resolve, reject) => {
    worker = createWorker(
      {
        catalogue: createCatalogue(sources, effects),
        ledger,
        client: harness.client,
        temporal: { address: inject('temporalAddress') },
        namespace: 'default',
        taskQueue: harness.taskQueue,
        log: createLogger({ level: 'silent' }),
        metrics: harness.metrics,
        ...(onStep ? { onStep } : {}),
      },
      { ownSignals: true, shutdownGraceMs: 1000, onReady: resolve },
    );
    run = worker.run();
    run.catch(reject);
  });
  return async () => {
    worker.shutdown();
    await run;
  };
}
