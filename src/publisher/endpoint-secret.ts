import { randomBytes } from 'node:crypto';
import { OnefoldError } from '../errors.js';
import { decodeBase64 } from '../runtime/decode-base64.js';
import type { Sealed, Sealer } from '../runtime/seal.js';
import { standardWebhooksKey } from '../sources/standard-webhooks-key.js';

/** The row that a sealed secret belongs to. */
export interface SecretPlace {
  readonly tenant: string;
  readonly endpoint: string;
  /** Of the row. */
  readonly id: string;
}

/** Of a new secret; within the 24 to 64 that Standard Webhooks asks for. */
const newSecretBytes = 32;
const leastSecretBytes = 24;
const mostSecretBytes = 64;

/** Secrets of one endpoint that sign at the same time: each makes the signature header of every message longer. */
export const liveSecretsLimit = 5;

/** Makes a signing secret as Standard Webhooks writes it: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return `whsec_${randomBytes(newSecretBytes).toString('base64')}`;
}

/**
 * Judges a signing secret that an owner brings along, such as the one that the receiver has from a former sender.
 *
 * @returns The secret, with `whsec_` before it.
 * @throws {OnefoldError} `endpoint_invalid` for anything but `whsec_` (or nothing) and the base64 of 24 to 64 bytes. No
 * part of it stands in the message.
 * @see Standard Webhooks 1.0.0, "Signature scheme".
 */
export function checkSecret(secret: unknown): string {
  const fail = (what: string): never => {
    throw new OnefoldError('endpoint_invalid', `secret: it ${what}`);
  };
  if (typeof secret !== 'string') return fail('is not text');
  // Before what is said of keys that verify, some of which are shorter than a sender may make them.
  const bytes = decodeBase64(secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret)?.length;
  if (bytes !== undefined && (bytes < leastSecretBytes || bytes > mostSecretBytes)) {
    return fail(`decodes to ${bytes} bytes; Standard Webhooks asks for ${leastSecretBytes} to ${mostSecretBytes}`);
  }
  keyOf(secret, fail);
  return secret.startsWith('whsec_') ? secret : `whsec_${secret}`;
}

/** Seals a secret for its row. */
export function sealSecret(sealer: Sealer, secret: string, place: SecretPlace): Sealed {
  return sealer.seal(secret, placeOf(place));
}

/**
 * Opens a secret of a row.
 *
 * @throws {OnefoldError} `secret_unreadable`, `config_missing`, `config_invalid`.
 */
export function openSecret(sealer: Sealer, sealed: Sealed, place: SecretPlace): string {
  return sealer.open(sealed, placeOf(place));
}

/**
 * Opens a secret of a row for signing.
 *
 * @returns The bytes that sign.
 * @throws {OnefoldError} `secret_unreadable`, `config_missing`, `config_invalid`.
 */
export function openSigningKey(sealer: Sealer, sealed: Sealed, place: SecretPlace): Buffer {
  return keyOf(openSecret(sealer, sealed, place), (what) => {
    throw new OnefoldError('secret_unreadable', `the secret ${place.id} of ${place.endpoint} ${what}`);
  });
}

function keyOf(secret: string, fail: (what: string) => never): Buffer {
  const read = standardWebhooksKey(secret, fail);
  return read.version === 'v1' ? read.key : fail('is a public key; messages are signed with a shared secret');
}

function placeOf({ tenant, endpoint, id }: SecretPlace): string {
  return JSON.stringify(['endpoint-secret', tenant, endpoint, id]);
}
