import type { Ledger } from '../../../src/ledger/ledger.js';
import { defaultSchema, schemaName } from '../../../src/ledger/schema-name.js';

/** A ledger that takes evidence and loses it, for tests that never come to an effect. */
export function unusedLedger(): Ledger {
  return {
    schema: schemaName(defaultSchema),
    database: {
      transaction: async (work) => work(undefined, async () => ({ rows: [], rowCount: 0 })),
      query: async () => ({ rows: [], rowCount: 0 }),
      sqlIn: () => async () => ({ rows: [], rowCount: 0 }),
      close: async () => undefined,
    },
  };
}
