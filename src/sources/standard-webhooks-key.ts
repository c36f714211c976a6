import { createPublicKey, type KeyObject } from 'node:crypto';
import { decodeBase64 } from '../runtime/decode-base64.js';
import type { KeyReader } from './secrets.js';

/** A key of Standard Webhooks: shared for `v1` (HMAC-SHA256), public for `v1a` (Ed25519). */
export type StandardWebhooksKey =
  | { readonly version: 'v1'; readonly key: Buffer }
  | { readonly version: 'v1a'; readonly key: KeyObject };

/**
 * The specification recommends 24 to 64 bytes. Below 16 a key comes near to guessing, and is nearly always a mistyped
 * secret.
 */
export const shortestKeyBytes = 16;

const ed25519KeyBytes = 32;

/**
 * Reads a secret of Standard Webhooks or Svix: `whsec_` (or nothing) and the base64 of a shared key, or `whpk_` and the
 * base64 of a public key. The decoded bytes are the key; taking the text is the commonest mistake with this scheme.
 *
 * @see Standard Webhooks 1.0.0, "Signature scheme".
 */
export const standardWebhooksKey: KeyReader<StandardWebhooksKey> = (secret, fail) => {
  if (/^v\d+a?,/.test(secret)) return fail("begins with the label of a signature ('v1,'), which is no part of it");
  if (secret.startsWith('whsk_')) {
    return fail("is the sender's private key; a receiver verifies with the public key, which begins with 'whpk_'");
  }
  if (secret.startsWith('whpk_')) {
    const raw = decodeBase64(secret.slice('whpk_'.length));
    if (raw?.length !== ed25519KeyBytes) {
      return fail(`is not 'whpk_' and the base64 of an Ed25519 public key of ${ed25519KeyBytes} bytes`);
    }
    return { version: 'v1a', key: publicKey(raw) };
  }
  const key = decodeBase64(secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret);
  if (key === undefined) return fail("is not base64, after 'whsec_' where it begins so");
  if (key.length < shortestKeyBytes) {
    return fail(`decodes to a key of fewer than ${shortestKeyBytes} bytes (24 to 64 are recommended)`);
  }
  return { version: 'v1', key };
};

function publicKey(raw: Buffer): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' });
}
