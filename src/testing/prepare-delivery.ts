import { displayEvent } from '../identity/event-identity.js';
import { arrivedDelivery } from '../receiver/delivery.js';
import { keyDelivery } from '../receiver/key-delivery.js';
import type { Source } from '../sources/define-source.js';
import { signedHeaders } from '../sources/signed-headers.js';
import { eventText, freshEventId, type TestEvent } from './test-event.js';

/** The receiver of the kit, which nobody reaches by its name. */
export const receiverUrl = 'http://receiver.test/webhooks';

/** Made once per event: every delivery of it is the same but for its signature. */
export interface PreparedDelivery {
  readonly source: Source;
  /** What the provider says of it, in body and headers. */
  readonly sent: { readonly body: Buffer; readonly id: string; readonly type: string };
  /** The event id that Onefold knows it by. */
  readonly id: string;
  readonly tenant: string;
  readonly eventKey: string;
  /** `source/event-id`. */
  readonly event: string;
}

/**
 * Prepares an event as its provider would send it.
 *
 * @throws {TypeError} Where the source would read another id or type out of it than the test says; such sources have both in
 * the body, which is the test's `data`.
 * @throws {OnefoldError} `config_missing`, `secret_invalid` when the source's secrets are at fault.
 */
export function prepareDelivery(source: Source, event: TestEvent): PreparedDelivery {
  const body = Buffer.from(eventText(source, event));
  const sent = { body, id: event.id ?? freshEventId(), type: event.type };
  const headers = lowerCased(signedHeaders(source, { ...sent, now: new Date() }));
  const request = { method: 'POST', url: receiverUrl, headers, rawBody: body };
  const identified = source.identify(request);
  if (!identified.ok) {
    throw new TypeError(
      `source '${source.name}' takes the identity from ${source.preset.identityFrom}, and reads none in this event: ${identified.message}`,
    );
  }
  const { id, eventId, type, action } = identified;
  if (event.id !== undefined && ![id, eventId].includes(event.id)) {
    throw new TypeError(
      `source '${source.name}' takes the event id from ${source.preset.identityFrom}, which says ${JSON.stringify(id)}, and the test says ${JSON.stringify(event.id)}`,
    );
  }
  if (![type, `${type}.${action}`].includes(event.type)) {
    throw new TypeError(
      `source '${source.name}' reads the type '${type}' in this event, and the test says '${event.type}'`,
    );
  }
  const delivery = arrivedDelivery(new Date());
  const key = keyDelivery(source, { request, identified }, delivery);
  return {
    source,
    sent,
    id,
    tenant: delivery.tenant,
    eventKey: key,
    event: displayEvent({ source: source.name, id }),
  };
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
