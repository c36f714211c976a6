import { OnefoldError } from '../errors.js';
import type { EnvSecrets } from './from-env.js';

/** The secrets a source verifies with. Any of several may match, so that they can be changed without downtime. */
export type Secrets = string | readonly string[] | EnvSecrets;

/**
 * Turns one secret into the key of its scheme, or calls `fail` with what is wrong about it, in words that hold no part
 * of the secret: "is not base64".
 */
export type KeyReader<Key> = (secret: string, fail: (what: string) => never) => Key;

/**
 * Makes a function that resolves the secrets and turns each into its key, in their order. It does so once, on the first
 * call that succeeds; a variable that is missing now may be there at the next.
 *
 * The function throws `config_missing` where there is no secret at all and `secret_invalid` for the first that cannot be
 * a key. Both name the source and the variable, and never any part of a secret: such messages end in logs.
 *
 * @param source Name of the source, for the messages.
 */
export function lazyKeys<Key>(source: string, secrets: Secrets, readKey: KeyReader<Key>): () => readonly Key[] {
  let keys: readonly Key[] | undefined;
  return () => {
    keys ??= resolve(source, secrets).map(({ secret, place }) => {
      const fail = (what: string): never => {
        throw new OnefoldError('secret_invalid', `${place} ${what}; copy it anew from the provider`);
      };
      if (typeof secret !== 'string') return fail('is not text');
      if (secret.trim() === '') return fail('is blank');
      if (secret.trim() !== secret) return fail('begins or ends with white space');
      return readKey(secret, fail);
    });
    return keys;
  };
}

interface PlacedSecret {
  readonly secret: string;
  /** Which secret it is, in words. */
  readonly place: string;
}

function resolve(source: string, secrets: Secrets | undefined): readonly PlacedSecret[] {
  const found = textsOf(source, secrets);
  const origin = isFromEnv(secrets) ? ` in ${secrets.variable}` : '';
  return found.map((secret, index) => ({
    secret,
    place: `source '${source}': ${found.length === 1 ? 'the secret' : `secret ${index + 1} of ${found.length}`}${origin}`,
  }));
}

function textsOf(source: string, secrets: Secrets | undefined): readonly string[] {
  if (typeof secrets === 'string') return [secrets];
  if (Array.isArray(secrets) && secrets.length > 0) return secrets;
  if (isFromEnv(secrets)) {
    const texts = (process.env[secrets.variable] ?? '').split(/[\s,]+/).filter((text) => text !== '');
    if (texts.length > 0) return texts;
    throw new OnefoldError(
      'config_missing',
      `source '${source}' needs its secrets in the environment variable ${secrets.variable}, which is ${
        process.env[secrets.variable] === undefined ? 'not set' : 'empty'
      }`,
    );
  }
  throw new OnefoldError(
    'config_missing',
    `source '${source}' has no secrets: give the text of one, a list of several, or fromEnv('VARIABLE')`,
  );
}

function isFromEnv(secrets: Secrets | undefined): secrets is EnvSecrets {
  return typeof secrets === 'object' && secrets !== null && typeof (secrets as EnvSecrets).variable === 'string';
}
