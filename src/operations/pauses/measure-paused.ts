import { listPauses } from '../../ledger/pauses/list-pauses.js';
import type { OperationsContext } from '../context.js';

/**
 * Asks the ledger what is paused, for a scrape. Where it cannot be asked, as in a receiver without PostgreSQL, nothing is
 * said rather than something old.
 */
export async function measurePaused(context: OperationsContext): Promise<void> {
  const { paused } = context.metrics;
  try {
    const { database, schema } = context.ledger;
    const pauses = await listPauses(database.query, schema);
    paused.reset();
    for (const { kind, name } of pauses) paused.inc({ kind, name });
  } catch {
    paused.reset();
  }
}
