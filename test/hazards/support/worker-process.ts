import { Client, Connection } from '@temporalio/client';
import { createCatalogue } from '../../../src/effects/catalogue.js';
import type { Database } from '../../../src/ledger/database.js';
import { type PgTransaction, pgDatabase } from '../../../src/ledger/pg-database.js';
import { schemaName } from '../../../src/ledger/schema-name.js';
import { createLogger } from '../../../src/runtime/logger.js';
import { createMetrics } from '../../../src/runtime/metrics.js';
import { createWorker } from '../../../src/worker/create-worker.js';
import { crashingShop, die } from './crashing-shop.js';
import type { WorkerProcessSettings } from './spawn-worker.js';

/** A worker in a process of its own, which tests kill and freeze; it ends with the process that forked it. */
const { address, taskQueue, databaseUrl, crashAt } = JSON.parse(
  process.env.ONEFOLD_TEST_WORKER ?? '{}',
) as WorkerProcessSettings;
// Not `exit`, which waits for the worker's threads.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

const database = pgDatabase({ connectionString: databaseUrl });
const crashing: Database<PgTransaction> = {
  ...database,
  async transaction(work, limits) {
    if (crashAt === 'before') die();
    const result = await database.transaction(work, limits);
    // COMMIT has answered and the activity has not: what the ledger holds is all that is left of this attempt.
    if (crashAt === 'after') die();
    return result;
  },
};
const { sources, effects } = crashingShop(crashAt);
const connection = await Connection.connect({ address });
await createWorker(
  {
    catalogue: createCatalogue(sources, effects),
    ledger: { database: crashing, schema: schemaName('onefold') },
    client: new Client({ connection }),
    temporal: { address },
    namespace: 'default',
    taskQueue,
    log: createLogger({ level: 'info', process: 'worker' }),
    metrics: createMetrics(),
  },
  { ownSignals: true, onReady: () => process.send?.('ready') },
).run();
