import { OnefoldError } from '../errors.js';
import { displayEvent, type EventKey } from '../identity/event-identity.js';
import { createDeliveryRecorder } from '../ledger/record-deliveries.js';
import { acceptVerified } from '../receiver/accept-verified.js';
import { type AnsweredCase, answerFor, isAnswered } from '../receiver/answers.js';
import { arrivedDelivery, type Delivery } from '../receiver/delivery.js';
import { createDeliveryEvidence } from '../receiver/delivery-evidence.js';
import type { DeliveryPath } from '../receiver/delivery-path.js';
import { createRegisteredAttributes } from '../runtime/registered-attributes.js';
import type { Source } from '../sources/define-source.js';
import type { Identified } from '../sources/source.js';
import type { OperationsContext } from './context.js';

/** What a delivery was to its event, or why it was refused. */
export type TakenDelivery =
  | {
      readonly path: DeliveryPath;
      readonly outcome?: string;
      readonly bodyDiffers: boolean;
      readonly refused?: undefined;
    }
  | { readonly refused: OnefoldError };

/**
 * Takes a delivery that a person hands in through the receiver's own steps, and leaves its evidence as the receiver does: the
 * log line, the metrics and the row, which is written when this resolves, or counted as lost.
 *
 * @throws What is no refusal of the answer table: a defect.
 */
export async function takeUnsigned(
  context: OperationsContext,
  handed: {
    readonly source: Source;
    readonly identified: Identified;
    readonly eventKey: EventKey;
    readonly tenant: string;
    readonly digest: string;
    readonly act: string;
  },
): Promise<TakenDelivery> {
  const { client, namespace, taskQueue, ledger, log, metrics, catalogue } = context;
  const { source, identified, eventKey, tenant, digest, act } = handed;
  const recorder = createDeliveryRecorder({ ledger, metrics, log });
  const evidence = createDeliveryEvidence({ log, metrics, recorder });
  const delivery: Delivery = Object.assign(arrivedDelivery(new Date(), act), {
    source: source.name,
    tenant,
    event: displayEvent({ source: source.name, id: identified.id }),
    eventKey,
    digest,
  });
  const deps = {
    effects: catalogue.effects,
    client,
    taskQueue,
    ledger,
    log,
    attributes: createRegisteredAttributes({ client, namespace, log }),
    // A person who hands an event in knows of the backlog, and nobody waits for its end.
    backlog: { oldestMs: () => 0 },
    waitingPlaces: { take: () => false, giveBack: () => undefined },
  };
  try {
    const end = await acceptVerified(deps, { source, identified, eventKey }, delivery);
    const { status } = answerFor(end.answer, delivery.acknowledge);
    evidence.leave(delivery, { status, record: true });
    // What was not refused has a path.
    const path = delivery.path as DeliveryPath;
    return { path, bodyDiffers: delivery.bodyDiffers, ...(end.outcome === undefined ? {} : { outcome: end.outcome }) };
  } catch (error) {
    if (!(error instanceof OnefoldError) || !isAnswered(error.code)) throw error;
    const code: AnsweredCase = error.code;
    evidence.leave(delivery, { status: answerFor(code, delivery.acknowledge).status, code, refused: {}, record: true });
    return { refused: error };
  } finally {
    evidence.close();
    await recorder.close();
  }
}
