import { endEffect } from '../ledger/complete-effect.js';
import { ledgerNames } from './catalogue.js';
import type { AttemptInLedger } from './external-attempt.js';

/** Of the short transaction that ends an effect for an event, ms. */
const endLimitMs = 5000;

/**
 * Ends the effect for an event, where nothing is left to do for it.
 *
 * @throws {OnefoldError} `abandoned` when the event was abandoned; `ledger_unavailable`.
 */
export async function endForEvent(
  { ledger, attempt }: AttemptInLedger,
  eventKey: string,
  end: { readonly effect: string; readonly outcome: 'done' | 'already_done' | 'stale' },
): Promise<void> {
  const { event, businessKey, effect } = attempt;
  const names = ledgerNames(effect);
  await ledger.database.transaction(
    (_tx, sql) => endEffect(sql, ledger.schema, { tenant: event.tenant, names, businessKey, eventKey, ...end }),
    { statementTimeoutMs: endLimitMs, lockTimeoutMs: endLimitMs, idleTimeoutMs: endLimitMs },
  );
}
