import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { createCatalogue } from '../../../src/effects/catalogue.js';
import { pgDatabase } from '../../../src/ledger/pg-database.js';
import { schemaName } from '../../../src/ledger/schema-name.js';
import { createMetrics } from '../../../src/runtime/metrics.js';
import { createWorker } from '../../../src/worker/create-worker.js';
import { carrierEffects } from './carrier.js';
import type { HeldWorkerSettings, WordFromWorker, WordToWorker } from './held-worker.js';

/** A worker in a process of its own, which halts first attempts at their steps until it is killed or told to go on. */
const { address, taskQueue, databaseUrl, partners, concurrency } = JSON.parse(
  process.env.ONEFOLD_TEST_WORKER ?? '{}',
) as HeldWorkerSettings;
// Not `exit`, which waits for the worker's threads.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

const say = (word: WordFromWorker): void => void process.send?.(word);
let holding = true;
let release = (): void => {};
const released = new Promise<void>((resolve) => {
  release = resolve;
});

const { sources, effects } = carrierEffects(partners);
const connection = await Connection.connect({ address });
const worker = createWorker(
  {
    catalogue: createCatalogue(sources, effects),
    ledger: { database: pgDatabase({ connectionString: databaseUrl, max: 30 }), schema: schemaName('onefold') },
    client: new Client({ connection }),
    temporal: { address },
    namespace: 'default',
    taskQueue,
    log: pino(
      { level: 'info', base: {}, formatters: { level: (label) => ({ level: label }) } },
      { write: (line: string) => say({ line: JSON.parse(line) }) },
    ),
    metrics: createMetrics(),
    onStep: async (step, { event, attempt, eventKey }) => {
      if (!event.startsWith(`carrier/${step}:`) || attempt !== 1 || !holding) return;
      say({ held: eventKey });
      await released;
    },
  },
  { ownSignals: true, concurrency, shutdownGraceMs: 1000, onReady: () => say({ ready: true }) },
);
process.on('message', (word: WordToWorker) => {
  if (word === 'go on') {
    holding = false;
    release();
  } else {
    worker.shutdown();
  }
});
await worker.run();
process.exit(0);
