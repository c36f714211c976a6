import { travellingResultBytes } from '../ledger/read-plan.js';
import type { StoredResult } from '../workflows/contract.js';

/**
 * Results of one event that travel through Temporal together. They meet in one workflow task of at most 4 MiB, in the
 * event's own result of at most 2 MiB and in the argument of its next run; and JSON text within JSON text takes up to
 * twice its bytes.
 */
const eventResultsBytes = 512 * 1024;

/**
 * A result as it travels: whole where it fits into its effect's share, else by reference to the ledger, which has it
 * since COMMIT.
 *
 * @param effects How many effects the event has.
 */
export function travellingResult(result: StoredResult, effects: number): StoredResult {
  if (!('json' in result)) return result;
  const bytes = Buffer.byteLength(result.json);
  const share = Math.min(travellingResultBytes, Math.floor(eventResultsBytes / Math.max(1, effects)));
  return bytes <= share ? result : { stored: true, bytes };
}
