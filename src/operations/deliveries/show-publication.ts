import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { checkPublication } from '../../identity/publication-identity.js';
import { latestActs } from '../../ledger/acts/latest-acts.js';
import type { RecordedDelivery } from '../../ledger/publication-deliveries/delivery-row.js';
import { listDeliveries } from '../../ledger/publication-deliveries/list-deliveries.js';
import { listPublications, type RecordedPublication } from '../../ledger/publication-deliveries/list-publications.js';
import { readMessage } from '../../ledger/publication-deliveries/read-message.js';
import { publicationActKey } from '../act-keys.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import type { DeliveryAct } from './show-delivery.js';

/** A publication with its message, and its first deliveries. */
export interface ShownPublication extends Omit<RecordedPublication, 'cause' | 'deliveries'> {
  /** What published it, where an effect or a republishing did. */
  readonly cause?: unknown;
  /** JSON text, as every attempt sends it. */
  readonly body: string;
  /** How many deliveries are in each state. */
  readonly states: RecordedPublication['deliveries'];
  /** By endpoint, the first of them; `listDeliveries` has all. */
  readonly deliveries: readonly RecordedDelivery[];
  /** Republishings of it. */
  readonly acts: readonly DeliveryAct[];
}

const rowsShown = 200;

/**
 * Shows one publication.
 *
 * @throws {OnefoldError} `publication_unknown`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function showPublication(
  { ledger }: OperationsContext,
  name: { readonly tenant?: string; readonly publication: string },
): Promise<ShownPublication> {
  const tenant = checkTenant(name.tenant ?? '');
  const publication = checkPublication(name.publication);
  const { query } = ledger.database;
  const { schema } = ledger;
  try {
    const [rows, message, deliveries, acts] = await Promise.all([
      listPublications(query, schema, { tenant }, { only: publication, limit: 1 }),
      readMessage(query, schema, { tenant, publication }),
      listDeliveries(query, schema, { tenant, publication }, { limit: rowsShown }),
      latestActs(query, schema, { tenant, eventKey: publicationActKey(tenant, publication) }, rowsShown),
    ]);
    const found = rows[0]?.publication;
    if (!found || !message) {
      throw new OnefoldError('publication_unknown', `the ledger has no publication ${JSON.stringify(publication)}`);
    }
    const { cause, deliveries: states, ...rest } = found;
    return {
      ...rest,
      ...(cause === undefined ? {} : { cause: JSON.parse(cause) as unknown }),
      body: message.body,
      states,
      deliveries: deliveries.map(({ delivery }) => delivery),
      acts: acts.map(({ id, kind, actor, reason, at, outcome }) => ({ id, kind, by: actor, reason, at, outcome })),
    };
  } catch (error) {
    throw operationFailure(error);
  }
}
