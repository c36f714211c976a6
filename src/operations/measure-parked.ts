import { countParked } from '../ledger/count-parked.js';
import type { OperationsContext } from './context.js';

/**
 * Asks the ledger how many effects wait for a person, for a scrape. Where it cannot be asked, as in a receiver without
 * PostgreSQL, the number is absent rather than old.
 */
export async function measureParked(context: OperationsContext): Promise<void> {
  const { parkedNow } = context.metrics;
  try {
    const { database, schema } = context.ledger;
    parkedNow.set(await countParked(database.query, schema));
  } catch {
    parkedNow.remove();
  }
}
