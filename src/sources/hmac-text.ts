import { createHmac } from 'node:crypto';

/** What a signature may rest on. SHA-1 only where a provider offers nothing better. */
export type HmacAlgorithm = 'sha1' | 'sha256' | 'sha512';

/** The HMAC over the parts, one after the other, as text. Strings among the parts are taken as UTF-8. */
export function hmacText(
  algorithm: HmacAlgorithm,
  key: Uint8Array,
  encoding: 'hex' | 'base64',
  parts: readonly (string | Uint8Array)[],
): string {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest(encoding);
}
