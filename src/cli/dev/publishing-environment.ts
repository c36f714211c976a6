import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Receivers that are being developed stand on this machine, without a certificate. */
const ownMachine = 'localhost,127.0.0.0/8,::1';

/**
 * What publishing needs, where nobody has set it: a key that seals the secrets of endpoints, and the permission to send to
 * this machine.
 *
 * @param keyFolder Where the key is kept; undefined for no key, where what it sealed would outlive it.
 */
export async function publishingEnvironment(keyFolder: string | undefined): Promise<NodeJS.ProcessEnv> {
  const { ONEFOLD_SECRETS_KEYS, ONEFOLD_EGRESS_ALLOW, ONEFOLD_EGRESS_ALLOW_TENANTS } = process.env;
  return {
    ONEFOLD_SECRETS_KEYS: ONEFOLD_SECRETS_KEYS || (keyFolder && (await keptKey(join(keyFolder, 'secrets-keys')))),
    ONEFOLD_EGRESS_ALLOW: ONEFOLD_EGRESS_ALLOW || ownMachine,
    ONEFOLD_EGRESS_ALLOW_TENANTS: ONEFOLD_EGRESS_ALLOW_TENANTS || 'true',
  };
}

async function keptKey(file: string): Promise<string> {
  // The flag leaves a key alone that was made before: what it has sealed, no other opens.
  await writeFile(file, `dev:${randomBytes(32).toString('base64')}`, { flag: 'wx', mode: 0o600 }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );
  return readFile(file, 'utf8');
}
