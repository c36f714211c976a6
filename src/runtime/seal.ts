import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { OnefoldError } from '../errors.js';
import { decodeBase64 } from './decode-base64.js';

/** The variable that the keys come from. */
export const secretsKeysVariable = 'ONEFOLD_SECRETS_KEYS';

/** A text as PostgreSQL keeps it: unreadable without its key. */
export interface Sealed {
  readonly sealed: Buffer;
  /** Name of the key that opens it. */
  readonly key: string;
}

/**
 * Seals and opens what must not be read from a dump of the database: signing secrets, and the values of headers.
 *
 * Each of its methods throws `config_missing` where no key is configured and `config_invalid` where one is malformed, and
 * not before: an application that has no endpoints needs no keys.
 */
export interface Sealer {
  /** Name of the key that seals: the first one configured. */
  readonly currentKey: string;
  /**
   * Seals a text, never twice to the same bytes.
   *
   * @param place What the text belongs to. Elsewhere it cannot be opened, so that a row copied to another endpoint, or
   *   another tenant, gives nothing away and signs nothing.
   */
  seal(text: string, place: string): Sealed;
  /**
   * Opens what was sealed for the same place.
   *
   * @throws {OnefoldError} `secret_unreadable` without its key, or where it is not as it was sealed.
   */
  open({ sealed, key }: Sealed, place: string): string;
}

/** The first byte of everything sealed, so that another form can stand beside this one some day. */
const form = 1;
/** Of the cipher; a new random one each time, which is safe for some 4 billion texts under one key. */
const ivBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

/** Stands in a column beside each sealed text, and in messages. */
const keyNameForm = /^[A-Za-z0-9._-]{1,32}$/;

/**
 * Makes a sealer: AES-256-GCM under the first of the keys; all of them open.
 *
 * @param keys `<name>:<base64 of 32 bytes>`, comma separated. They are read on first use.
 */
export function createSealer(keys: string | undefined): Sealer {
  let read: ReadonlyMap<string, Buffer> | undefined;
  const all = (): ReadonlyMap<string, Buffer> => {
    read ??= readKeys(keys);
    return read;
  };
  const current = (): readonly [name: string, key: Buffer] => all().entries().next().value as [string, Buffer];
  return {
    get currentKey() {
      return current()[0];
    },
    seal(text, place) {
      const [name, key] = current();
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
      cipher.setAAD(Buffer.from(place));
      const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return { sealed: Buffer.concat([Buffer.of(form), iv, cipher.getAuthTag(), hidden]), key: name };
    },
    open({ sealed, key: name }, place) {
      const key = all().get(name);
      if (!key) {
        throw new OnefoldError(
          'secret_unreadable',
          `sealed with the key '${name}', which is not in ${secretsKeysVariable}: add it there, behind the others`,
        );
      }
      const text = opened(sealed, key, place);
      if (text === undefined) {
        throw new OnefoldError(
          'secret_unreadable',
          `the key '${name}' does not open it: the row was changed or copied, or ${secretsKeysVariable} has another key under that name`,
        );
      }
      return text;
    },
  };
}

/** @returns Undefined where the tag does not fit: to another key, another place, or other bytes. */
function opened(sealed: Buffer, key: Buffer, place: string): string | undefined {
  const start = 1 + ivBytes + tagBytes;
  if (sealed.length < start || sealed[0] !== form) return undefined;
  const iv = sealed.subarray(1, 1 + ivBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(sealed.subarray(1 + ivBytes, start));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(start)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** No part of an entry stands in a message, not even its name: where the colon was forgotten, that would be the key. */
function readKeys(keys: string | undefined): ReadonlyMap<string, Buffer> {
  const entries = (keys ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (entries.length === 0) {
    throw new OnefoldError(
      'config_missing',
      `${secretsKeysVariable} is not set: the secrets of endpoints are kept sealed. Give it <name>:<base64 of 32 random bytes>, such as k1: and what \`openssl rand -base64 32\` prints, the same in every process`,
    );
  }
  const read = new Map<string, Buffer>();
  entries.forEach((entry, index) => {
    const wrong = (what: string): OnefoldError =>
      new OnefoldError('config_invalid', `${secretsKeysVariable}: entry ${index + 1} of ${entries.length} ${what}`);
    const colon = entry.indexOf(':');
    if (colon < 0) throw wrong('has no colon: expected <name>:<base64 of 32 bytes>');
    const name = entry.slice(0, colon);
    if (!keyNameForm.test(name)) throw wrong('has a name that is not 1 to 32 of A-Z a-z 0-9 . _ -');
    const key = decodeBase64(entry.slice(colon + 1));
    if (key?.length !== keyBytes) throw wrong(`is not the base64 of ${keyBytes} bytes after its name`);
    if (read.has(name)) throw wrong('has the name of an earlier one');
    read.set(name, key);
  });
  return read;
}
