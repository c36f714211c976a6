import type { EventKey } from '../identity/event-identity.js';
import type { Source } from '../sources/define-source.js';
import type { Identified } from '../sources/source.js';
import { checkPayload } from './check-payload.js';
import type { Delivery, DeliveryEnd } from './delivery.js';
import { DeliveryRefused } from './delivery-refused.js';
import { endDelivery } from './end-delivery.js';
import { keepIgnored } from './keep-ignored.js';
import { matchEffects } from './match-effects.js';
import type { AcceptDependencies } from './receive-dependencies.js';
import { recordEvent } from './record-event.js';

/** A delivery that is known to be its provider's, by its signature or by the word of a person. */
export interface AcceptedDelivery {
  readonly source: Source;
  readonly identified: Identified;
  readonly eventKey: EventKey;
  /** Aborts when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes a delivery from its event key to how it ends; the same for one that came signed and for one that a person hands in.
 *
 * @param delivery Filled in with what is learnt. Its tenant and digest are known by now.
 * @throws {OnefoldError} With a code of the answer table; anything else is a defect.
 */
export async function acceptVerified(
  deps: AcceptDependencies,
  { source, identified, eventKey, signal }: AcceptedDelivery,
  delivery: Delivery,
): Promise<DeliveryEnd> {
  const { type, effects } = matchEffects(source, deps.effects, identified);
  const { backlogLimitMs, refuseOtherBody, record } = source.settings;
  const { tenant, receivedAt } = delivery;
  const digest = delivery.digest as string;
  const event = {
    version: 1,
    tenant,
    source: source.name,
    id: identified.id,
    type,
    digest,
    receivedAt: receivedAt.toISOString(),
    ...(identified.occurredAt === undefined ? {} : { occurredAt: identified.occurredAt }),
  } as const;
  delivery.type = type;
  if (effects.length === 0) {
    // No workflow: one without effects would record the event as done, and a later deployment could never run it.
    if (record === 'all') delivery.bodyDiffers = await keepIgnored(deps.ledger, eventKey, event, identified.json);
    delivery.path = 'ignored';
    return { answer: 'ignored' };
  }
  if (backlogLimitMs !== undefined && deps.backlog.oldestMs() > backlogLimitMs) {
    throw new DeliveryRefused('backlog_full', 'the oldest waiting event is older than the backlog limit');
  }

  const payload = await checkPayload(deps.ledger, { tenant, eventKey, digest }, identified.json);
  const decision = await recordEvent(deps, source, eventKey, { ...event, payload, effects });
  delivery.bodyDiffers = decision.bodyDiffers;
  const refused = decision.bodyDiffers && refuseOtherBody && !decision.started;
  // What failed with another body was not started again, so no path names what happened here.
  if (!refused || decision.path !== 'retry_after_failure') delivery.path = decision.path;
  if (refused) throw new DeliveryRefused('body_differs', 'this event identity is known with another body');
  return endDelivery(deps, source, eventKey, delivery, decision, signal);
}
