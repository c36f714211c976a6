import type { Onefold } from '../onefold.js';
import { signedHeaders } from '../sources/signed-headers.js';
import { type PreparedDelivery, receiverUrl } from './prepare-delivery.js';

/** What the receiver answered to a delivery. */
export interface DeliveryAnswer {
  readonly status: number;
  /** `first_run`, `duplicate_done`, …; absent where the delivery was refused. */
  readonly path?: string;
  /** The body, parsed: `{ event, path, outcome?, result? }`, or the problem with its `code`. */
  readonly body: any;
}

/** Hands one delivery to the receiver, signed now. */
export async function deliver(onefold: Onefold, prepared: PreparedDelivery): Promise<DeliveryAnswer> {
  const { source, sent } = prepared;
  const { body } = sent;
  const headers = signedHeaders(source, { ...sent, now: new Date() });
  const response = await onefold.fetch(new Request(`${receiverUrl}/${source.name}`, { method: 'POST', headers, body }));
  const text = await response.text();
  const path = response.headers.get('onefold-path');
  return {
    status: response.status,
    ...(path === null ? {} : { path }),
    body: text === '' ? undefined : JSON.parse(text),
  };
}
