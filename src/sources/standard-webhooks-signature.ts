import { verify } from 'node:crypto';
import { decodeBase64 } from '../runtime/decode-base64.js';
import { equalText } from './equal-text.js';
import { hmacText } from './hmac-text.js';
import { headerBytes } from './read-header.js';
import type { StandardWebhooksKey } from './standard-webhooks-key.js';

/** What a signature of Standard Webhooks covers. */
export interface SignedMessage {
  readonly id: string;
  /** The header's text, never a number parsed and written again. */
  readonly timestamp: string;
  readonly body: Uint8Array;
}

/**
 * The `v1` signature of a message, without its label: base64 of the HMAC-SHA256 over id, timestamp and body, joined by
 * dots.
 *
 * @see Standard Webhooks 1.0.0, "Signature scheme".
 */
export function signV1(key: Uint8Array, message: SignedMessage): string {
  return hmacText('sha256', key, 'base64', signedContent(message));
}

/** One entry of the signature header: `v1,<base64>`. */
export interface SignatureEntry {
  readonly version: string;
  readonly signature: string;
}

/** True where one of the entries of the key's own version is the key's signature of the message. */
export function matchesAny(
  key: StandardWebhooksKey,
  message: SignedMessage,
  entries: readonly SignatureEntry[],
): boolean {
  const candidates = entries.filter((entry) => entry.version === key.version);
  if (candidates.length === 0) return false;
  if (key.version === 'v1') {
    const expected = signV1(key.key, message);
    return candidates.some((entry) => equalText(entry.signature, expected));
  }
  const content = Buffer.concat(signedContent(message));
  return candidates.some((entry) => {
    const signature = decodeBase64(entry.signature);
    return signature !== undefined && verify(null, content, key.key, signature);
  });
}

function signedContent({ id, timestamp, body }: SignedMessage): Uint8Array[] {
  return [headerBytes(`${id}.${timestamp}.`), body];
}
