import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { Database } from '../../src/ledger/database.js';
import { createDeliveryRecorder, type DeliveryRow } from '../../src/ledger/record-deliveries.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import { createMetrics } from '../../src/runtime/metrics.js';

const row: DeliveryRow = {
  tenant: '',
  source: 'shop',
  eventKey: 'event//shop/evt_1',
  path: 'first_run',
  code: null,
  status: 202,
  digest: null,
  bodyDiffers: false,
  receivedAt: new Date(0),
};

/** Counts the rows it is given. */
function countingDatabase(onBatch: () => void) {
  const written = { rows: 0 };
  const database: Database<unknown> = {
    query: async () => ({ rows: [], rowCount: 0 }),
    sqlIn: () => database.query,
    close: async () => {},
    async transaction(work) {
      const result = await work(undefined, async (_text, values) => {
        written.rows += (values as readonly (readonly unknown[])[])[0]?.length ?? 0;
        return { rows: [], rowCount: 0 };
      });
      onBatch();
      return result;
    },
  };
  return { database, written };
}

/** Records a row, and another one some turns of the microtask queue after the first batch is committed. */
function recordTwice(turns: number): { readonly rows: number } {
  let batches = 0;
  const { database, written } = countingDatabase(async () => {
    if (batches++ > 0) return;
    for (let turn = 0; turn < turns; turn++) await undefined;
    recorder.record(row);
  });
  const ledger = { database, schema: schemaName('onefold') };
  const recorder = createDeliveryRecorder({ ledger, metrics: createMetrics(), log: pino({ level: 'silent' }) });
  recorder.record(row);
  return written;
}

test('a row that comes at whatever moment of a batch ending is written without waiting for another delivery', async () => {
  const written = Array.from({ length: 40 }, (_, turns) => recordTwice(turns));
  await expect.poll(() => written.map(({ rows }) => rows), { timeout: 3_000 }).toEqual(written.map(() => 2));
});
