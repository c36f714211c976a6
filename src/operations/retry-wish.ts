import { OnefoldError } from '../errors.js';
import { readAct, recordAct, setActOutcome } from '../ledger/record-act.js';
import type { OperationsContext } from './context.js';
import type { ActOptions } from './read-act-options.js';

/** The wish to try something now. */
export interface RetryWish extends Required<ActOptions> {
  readonly tenant: string;
  /** What it is about, as acts have it. */
  readonly about: string;
  /** What was found before; kept with the act. */
  readonly seen: unknown;
}

/**
 * Records the wish, and carries it out unless it was carried out before.
 *
 * @param tell Returns false where not everything could be told: the same id then tells again.
 * @returns Whether it was carried out now.
 * @throws {OnefoldError} `retry_refused` for the id of another act.
 */
export async function carryOutRetry(
  { ledger }: OperationsContext,
  { tenant, id, by, reason, about, seen }: RetryWish,
  tell: () => Promise<boolean>,
): Promise<boolean> {
  const { database, schema } = ledger;
  const act = { tenant, id, kind: 'retry_now', eventKey: about, actor: by, reason } as const;
  const isNew = await recordAct(database.query, schema, { ...act, seen: JSON.stringify(seen), outcome: 'asked' });
  if (!isNew) {
    const earlier = await readAct(database.query, schema, tenant, id);
    if (earlier?.kind !== 'retry_now' || earlier.eventKey !== about) {
      throw new OnefoldError(
        'retry_refused',
        `the id ${id} is that of another act: ${earlier?.kind} of ${earlier?.eventKey}`,
      );
    }
    if (earlier.outcome !== 'asked') return false;
  }
  if (await tell()) await setActOutcome(database.query, schema, { tenant, id, outcome: 'told' });
  return true;
}
