import { sqlState } from './classify-failure.js';

/** PostgreSQL's states for a schema, table or column that is not there. */
const missingStates: ReadonlySet<string> = new Set(['3F000', '42P01', '42703']);

/** Whether PostgreSQL answered that it has no ledger, or one older than this version needs. */
export function isLedgerMissing(error: unknown): boolean {
  return missingStates.has(sqlState(error) ?? '');
}
