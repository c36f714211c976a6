import { operationsContext } from '../operations/context.js';
import type { Source } from '../sources/define-source.js';
import type { KitParts } from './create-kit.js';
import { deliver } from './deliver.js';
import { awaitOutcome } from './event-outcome.js';
import { prepareDelivery } from './prepare-delivery.js';
import { terminateEvent } from './terminate-event.js';
import type { TestEvent } from './test-event.js';
import type { KitEvent } from './test-kit.js';

/** An event that needs longer than this, with all pauses left out, hangs. */
const outcomeWithinMs = 20_000;

/** Makes an event of the kit; nothing is sent yet. */
export function createKitEvent(parts: KitParts, source: Source, given: TestEvent): KitEvent {
  const prepared = prepareDelivery(source, given);
  const { event, id, tenant, eventKey } = prepared;
  const { ledger, effects, journal } = parts;
  const onefold = () => parts.app().onefold;
  const asked = () => ({ event, tenant, eventKey, ledger, effects, client: onefold()[operationsContext].client });
  const send = () => deliver(onefold(), prepared);
  return {
    event,
    id,
    deliver: send,
    deliverAtOnce: (times) => Promise.all(Array.from({ length: times }, send)),
    outcome: (withinMs = outcomeWithinMs) =>
      parts.app().time.skipping(() => awaitOutcome(asked(), withinMs, () => journal.storyOf({ eventKey }))),
    replay: (options = {}) =>
      onefold().replay(event, { by: 'test kit', reason: 'the test asks for it', tenant, ...options }),
    terminate: () => terminateEvent(asked(), outcomeWithinMs),
  };
}
