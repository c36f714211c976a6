import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { latestActs } from '../../ledger/acts/latest-acts.js';
import { type ListedDeadLetter, listDeadLetters } from '../../ledger/dead-letters/list-dead-letters.js';
import type { OperationsContext } from '../context.js';
import type { DeliveryAct } from '../deliveries/show-delivery.js';
import { operationFailure } from '../operation-failure.js';
import { readEventName } from '../read-event-name.js';
import { type DeadLetter, deadLetter, letterIdForm } from './list-dead-letters.js';

/** A dead letter with what people did about it. */
export interface ShownDeadLetter extends DeadLetter {
  /** The latest, in the order in which they were recorded. */
  readonly acts: readonly DeliveryAct[];
}

const actsShown = 50;

/**
 * Shows a dead letter.
 *
 * @param name Its id; or an event as `source/event-id`, or the workflow ID of an event or a delivery, of which the open one
 * is shown, else the latest.
 * @throws {OnefoldError} `dead_letter_unknown`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function showDeadLetter(
  { ledger }: OperationsContext,
  name: string,
  { tenant: of = '' }: { readonly tenant?: string } = {},
): Promise<ShownDeadLetter> {
  const tenant = checkTenant(of);
  const { query } = ledger.database;
  const { schema } = ledger;
  try {
    const found = await findDeadLetter({ ledger }, tenant, name);
    const acts = await latestActs(query, schema, { tenant: found.tenant, eventKey: found.key }, actsShown);
    return {
      ...deadLetter(found),
      acts: acts.map(({ id, kind, actor, reason, at, outcome }) => ({ id, kind, by: actor, reason, at, outcome })),
    };
  } catch (error) {
    throw operationFailure(error);
  }
}

/** @throws {OnefoldError} `dead_letter_unknown`, `identity_invalid`. */
export async function findDeadLetter(
  { ledger: { database, schema } }: Pick<OperationsContext, 'ledger'>,
  tenant: string,
  name: string,
): Promise<ListedDeadLetter> {
  const selection = letterIdForm.test(name) ? { tenant, id: name } : named(name, tenant);
  // The open one is the latest: another is opened only when it was closed.
  const [found] = await listDeadLetters(database.query, schema, { ...selection, open: false }, { limit: 1 });
  if (found) return found;
  throw new OnefoldError('dead_letter_unknown', `the ledger has no dead letter ${JSON.stringify(name)} of this tenant`);
}

function named(name: string, tenant: string): { readonly tenant: string; readonly key: string } {
  if (name.startsWith('publication/')) return { tenant, key: name };
  const event = readEventName(name, tenant);
  return { tenant: event.tenant, key: event.eventKey };
}
