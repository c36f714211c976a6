import { WorkflowNotFoundError } from '@temporalio/client';
import { publicationKey } from '../identity/publication-identity.js';
import { handOverSlots } from '../ledger/sends/hand-over-slots.js';
import { sha256 } from '../runtime/sha256.js';
import { deliveryHandlerNames } from '../workflows/delivery-contract.js';
import type { DeliveryDependencies } from './delivery-activities.js';

/** Of one signal, ms. The slot is kept for the one who waits some seconds longer. */
const tellWithinMs = 2_000;

/**
 * Tells deliveries that a slot of their endpoint is kept for them. Nobody waits for that: one that is not reached comes by
 * itself, or loses the slot to the next; the slot of one that has ended goes on at once.
 *
 * @param publications Theirs.
 */
export function tellNext(
  deps: Pick<DeliveryDependencies, 'client' | 'ledger'>,
  { tenant, endpoint }: { readonly tenant: string; readonly endpoint: string },
  publications: readonly string[],
): void {
  const { client } = deps;
  const { database, schema } = deps.ledger;
  for (const publication of publications) {
    const handle = client.workflow.getHandle(publicationKey({ tenant, endpoint, publication }, sha256));
    client
      .withDeadline(Date.now() + tellWithinMs, () => handle.signal(deliveryHandlerNames.endpointChanged))
      .catch(async (error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) return;
        tellNext(
          deps,
          { tenant, endpoint },
          await handOverSlots(database.query, schema, { tenant, endpoint }, publication),
        );
      })
      .catch(() => {});
  }
}
