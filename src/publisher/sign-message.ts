import assert from 'node:assert/strict';
import { signV1 } from '../sources/standard-webhooks-signature.js';

/** What an attempt signs. */
export interface MessageToSign {
  /** The same in every attempt at every endpoint. */
  readonly eventId: string;
  readonly body: Uint8Array;
  /** Every secret of the endpoint that has not expired, the newest first. */
  readonly keys: readonly Uint8Array[];
  /** When the attempt is made, ms since 1970: a signature that is kept and sent again would be refused as too old. */
  readonly nowMs: number;
}

/** The headers of Standard Webhooks. */
export interface SignedMessageHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * The headers by which a receiver verifies a message and recognises it when it comes again. There is one `v1` signature
 * for each key, separated by one space, so that during a rotation the old secret verifies as well as the new one.
 *
 * @see Standard Webhooks 1.0.0, "Webhook headers" and "Signature scheme".
 */
export function signedMessageHeaders({ eventId, body, keys, nowMs }: MessageToSign): SignedMessageHeaders {
  assert(keys.length > 0, 'a message is never sent unsigned');
  const timestamp = String(Math.floor(nowMs / 1000));
  const message = { id: eventId, timestamp, body };
  return {
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => `v1,${signV1(key, message)}`).join(' '),
  };
}
