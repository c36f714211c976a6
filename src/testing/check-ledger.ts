import { isLedgerMissing } from '../effects/is-ledger-missing.js';
import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import { listMissingMigrations } from '../ledger/list-missing-migrations.js';

/**
 * Makes sure that a database has the ledger of this version.
 *
 * @throws {OnefoldError} `migration_missing` saying what to do; `ledger_unavailable`.
 */
export async function checkLedger({ database, schema }: Ledger): Promise<void> {
  const missing = await listMissingMigrations(database.query, schema).catch((error: unknown) => {
    if (isLedgerMissing(error)) return ['all of them'];
    throw error;
  });
  if (missing.length === 0) return;
  throw new OnefoldError(
    'migration_missing',
    `the ledger ${schema} of the test's database lacks migrations: ${missing.join(', ')}. Call migrateLedger({ connectionString }) before the tests, or take the database of startTestDatabase()`,
  );
}
