import { Client, Connection } from '@temporalio/client';
import { createCatalogue } from '../../../../src/effects/catalogue.js';
import { pgDatabase } from '../../../../src/ledger/pg-database.js';
import { schemaName } from '../../../../src/ledger/schema-name.js';
import { egressRules } from '../../../../src/runtime/egress-rules.js';
import { createLogger } from '../../../../src/runtime/logger.js';
import { createMetrics } from '../../../../src/runtime/metrics.js';
import { createSealer } from '../../../../src/runtime/seal.js';
import { createWorker } from '../../../../src/worker/create-worker.js';
import { heldWord, type SenderSettings } from './spawn-sender.js';

/**
 * A worker of deliveries in a process of its own, relay included. A first attempt halts at the step that its publication's
 * name begins with, until the process is killed or told to go on.
 */
const { address, taskQueue, databaseUrl, secretsKeys } = JSON.parse(
  process.env.ONEFOLD_TEST_WORKER ?? '{}',
) as SenderSettings;
// Not `exit`, which waits for the worker's threads.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
const released = new Promise<void>((resolve) => process.once('SIGUSR2', () => resolve()));

const connection = await Connection.connect({ address });
await createWorker(
  {
    catalogue: createCatalogue([], []),
    ledger: { database: pgDatabase({ connectionString: databaseUrl, max: 40 }), schema: schemaName('onefold') },
    client: new Client({ connection }),
    temporal: { address },
    namespace: 'default',
    taskQueue,
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    publishing: {
      sealer: createSealer(secretsKeys),
      egressRules: egressRules(['127.0.0.1'], 'the test', true),
      onSendStep: async (step, { publication, attempt }) => {
        if (!publication.startsWith(`${step}:`) || attempt !== 1) return;
        process.send?.(heldWord(publication));
        await released;
      },
    },
  },
  { onReady: () => process.send?.('ready') },
).run();
process.exit(0);
