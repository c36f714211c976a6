import { onTestFinished } from 'vitest';
import type { SendStep } from '../../../../src/activities/delivery-activities.js';
import { pgDatabase } from '../../../../src/ledger/pg-database.js';
import { operationsContext } from '../../../../src/operations/context.js';
import { createSealer } from '../../../../src/runtime/seal.js';
import { createWorker } from '../../../../src/worker/create-worker.js';
import { type SwitchableProxy, startProxy } from '../../../receiver/support/switchable-proxy.js';
import { type DeliveryStage, secretsKeys } from '../../support/delivery-stage.js';

/** What happens to the way to PostgreSQL. */
export interface CutOff {
  /** At which step of the first attempt. */
  readonly at: SendStep;
  /** `refuse` as when the server is gone, `silent` as when the network drops its packets. */
  readonly by: 'refuse' | 'silent';
}

/**
 * Starts a worker that loses PostgreSQL at a step of its first attempt; it is stopped with the test.
 *
 * @returns The way to PostgreSQL, to mend.
 */
export async function startCutOffWorker(stage: DeliveryStage, { at, by }: CutOff): Promise<SwitchableProxy> {
  const url = new URL(stage.databaseUrl);
  const proxy = await startProxy(`${url.hostname}:${url.port}`);
  url.host = proxy.address;
  const database = pgDatabase({ connectionString: url.href, max: 20 });
  const { catalogue, ledger, client, temporal, namespace, log, metrics, egressRules } =
    stage.onefold[operationsContext];
  let cut = false;
  let ready = (): void => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const worker = createWorker(
    {
      catalogue,
      ledger: { database, schema: ledger.schema },
      client,
      temporal,
      namespace,
      taskQueue: stage.taskQueue,
      log,
      metrics,
      publishing: {
        sealer: createSealer(secretsKeys),
        egressRules,
        onSendStep: async (step) => {
          if (step !== at || cut) return;
          cut = true;
          await proxy.become(by);
        },
      },
    },
    { onReady: ready, shutdownGraceMs: 1000, ownSignals: true },
  );
  const run = worker.run();
  onTestFinished(async () => {
    await proxy.become('up');
    worker.shutdown();
    await run;
    await database.close();
    await proxy.close();
  });
  await Promise.race([isReady, run]);
  return proxy;
}
