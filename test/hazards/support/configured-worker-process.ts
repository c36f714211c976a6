import { Client, Connection } from '@temporalio/client';
import { createCatalogue } from '../../../src/effects/catalogue.js';
import { pgDatabase } from '../../../src/ledger/pg-database.js';
import { schemaName } from '../../../src/ledger/schema-name.js';
import { createLogger } from '../../../src/runtime/logger.js';
import { createMetrics } from '../../../src/runtime/metrics.js';
import { createWorker } from '../../../src/worker/create-worker.js';
import { haltHere } from './halt-here.js';
import type { Configure, ConfiguredWorkerSettings } from './spawn-configured-worker.js';

/** A worker in a process of its own, configured by a module; it ends with the process that forked it. */
const { address, taskQueue, databaseUrl, module, given, halt } = JSON.parse(
  process.env.ONEFOLD_TEST_WORKER ?? '{}',
) as ConfiguredWorkerSettings;
// Not `exit`, which waits for the worker's threads.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

const { configure } = (await import(module)) as { configure: Configure<unknown> };
const { sources, effects } = configure(given);
const connection = await Connection.connect({ address });
await createWorker(
  {
    catalogue: createCatalogue(sources, effects),
    ledger: { database: pgDatabase({ connectionString: databaseUrl }), schema: schemaName('onefold') },
    client: new Client({ connection }),
    temporal: { address },
    namespace: 'default',
    taskQueue,
    log: createLogger({ level: 'info', process: 'worker' }),
    metrics: createMetrics(),
    onStep: async (step, { attempt }) => {
      if (step === halt?.at && attempt === 1) await haltHere(halt.by);
    },
  },
  { ownSignals: true, onReady: () => process.send?.('ready') },
).run();
