import { OnefoldError } from '../errors.js';
import type { VerifiedDelivery } from '../receiver/read-verified.js';
import type { Source } from '../sources/define-source.js';
import { providersType } from '../sources/signed-headers.js';
import type { DeliveryRequest } from '../sources/source.js';

/** A payload that a person hands in: the bytes or text as the provider sent it, or the event as its API answers it. */
export type IngestPayload = string | Uint8Array | { readonly [field: string]: unknown };

/** What of an event does not stand in its body. */
export interface UnsignedEvent {
  /** The provider's own event id. */
  readonly id?: string;
  readonly type?: string;
  /** Further headers that the provider would have sent, such as the shop's; in any case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Makes of a payload the delivery that its provider would have sent, without a signature, and reads identity and type as the
 * source reads them from a request. Nothing is made up: an event under another id than the provider's would be another event.
 *
 * @throws {OnefoldError} `body_too_large`, `body_malformed`, `body_too_deep`, `identity_missing`, `type_missing`;
 * `ingest_refused` where an id or a type was given and the source reads another.
 */
export function unsignedDelivery(source: Source, payload: IngestPayload, event: UnsignedEvent): VerifiedDelivery {
  const { preset, settings } = source;
  const { id, type, headers = {} } = event;
  const rawBody = bytesOf(payload);
  if (rawBody.byteLength > settings.bodyLimitBytes) {
    throw new OnefoldError('body_too_large', `the source takes bodies of at most ${settings.bodyLimitBytes} bytes`);
  }
  const spelt = type === undefined ? undefined : providersType({ body: rawBody, type });
  const request: DeliveryRequest = {
    method: 'POST',
    // Nobody called it, and a tenant function may want to read it.
    url: `http://onefold.invalid/${source.name}`,
    headers: {
      'content-type': 'application/json',
      ...preset.nameHeaders({
        ...(id === undefined ? {} : { id }),
        ...(spelt === undefined ? {} : { type: spelt }),
      }),
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    },
    rawBody,
  };
  const identified = preset.identify(request);
  if (!identified.ok) {
    const { code, message } = identified;
    throw new OnefoldError(
      code,
      `${message}: ${hints[code] ?? `the source reads its identity from ${preset.identityFrom}`}`,
    );
  }
  const { eventId, action } = identified;
  if (id !== undefined && eventId !== id) {
    const read = eventId === null ? 'is no id of the provider' : `says ${JSON.stringify(eventId)}`;
    throw new OnefoldError(
      'ingest_refused',
      `id: the source reads it from ${preset.identityFrom}, which ${read}, not ${JSON.stringify(id)}`,
    );
  }
  if (type !== undefined && type !== identified.type && type !== `${identified.type}.${action}`) {
    throw new OnefoldError(
      'ingest_refused',
      `type: the source reads ${JSON.stringify(identified.type)}, not ${JSON.stringify(type)}`,
    );
  }
  return { request, identified };
}

/** What to do about an event that cannot be read. */
const hints: Readonly<Record<string, string>> = {
  identity_missing: 'give the id that the provider shows for it, or the header that is missing',
  type_missing: 'give its type',
};

function bytesOf(payload: IngestPayload): Uint8Array {
  if (payload instanceof Uint8Array) return payload;
  return Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
}
