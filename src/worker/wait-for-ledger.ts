import { setTimeout as sleep } from 'node:timers/promises';
import { isLedgerMissing } from '../effects/is-ledger-missing.js';
import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Logger } from '../runtime/logger.js';

/**
 * Waits until the ledger answers, as long as PostgreSQL is merely away.
 *
 * @throws {OnefoldError} `migration_missing` when it answers that it has no ledger; the signal's reason when aborted.
 */
export async function waitForLedger(ledger: Ledger, log: Logger, signal: AbortSignal): Promise<void> {
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      await ledger.database.query(`SELECT abandoned_reason FROM ${ledger.schema}.events LIMIT 0`);
      return;
    } catch (error) {
      if (isLedgerMissing(error)) {
        throw new OnefoldError(
          'migration_missing',
          `the ledger ${ledger.schema} is not there yet: run onefold migrate`,
          {
            cause: error,
          },
        );
      }
      if (tries % 30 === 0)
        log.warn({ code: 'ledger_unavailable', reason: (error as Error).message }, 'ledger.waiting');
    }
    await sleep(1000, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
