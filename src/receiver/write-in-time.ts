import type { Sql } from '../ledger/database.js';
import type { Ledger } from '../ledger/ledger.js';
import type { SchemaName } from '../ledger/schema-name.js';
import { within } from '../runtime/within.js';
import { DeliveryRefused } from './delivery-refused.js';

/** Time for storing a body: a fixed part, and one by size for slow disks; ms, and bytes per ms. */
const storeBaseMs = 1_000;
const storeBytesPerMs = 10_000;

/**
 * Commits what a delivery needs in the ledger before it is answered, in bounded time.
 *
 * @param bytes Size of the body that is written.
 * @throws {DeliveryRefused} `ledger_unavailable` when PostgreSQL did not do it in time.
 */
export async function writeInTime<Result>(
  { database, schema }: Ledger,
  bytes: number,
  write: (sql: Sql, schema: SchemaName) => Promise<Result>,
): Promise<Result> {
  const budgetMs = Math.ceil(storeBaseMs + bytes / storeBytesPerMs);
  const written = database.transaction((_tx, sql) => write(sql, schema), {
    statementTimeoutMs: budgetMs,
    lockTimeoutMs: budgetMs,
    idleTimeoutMs: budgetMs,
    signal: AbortSignal.timeout(budgetMs),
  });
  try {
    return await within(budgetMs, written, () => new Error('PostgreSQL did not store the body in time'));
  } catch (cause) {
    const { code, name } = cause as { code?: string; name?: string };
    throw new DeliveryRefused('ledger_unavailable', 'PostgreSQL did not store the body', {
      reason: String(code ?? name),
      cause,
    });
  }
}
