import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Receivers that are being developed stand on this machine, without a certificate. */
const ownMachine = 'localhost,127.0.0.0/8,::1';

/**
 * What publishing needs, where nobody has set it: a key that seals the secrets of endpoints, kept beside the data that it
 * seals, and the permission to send to this machine.
 *
 * @param folder The data folder.
 */
export async function publishingEnvironment(folder: string): Promise<NodeJS.ProcessEnv> {
  const { ONEFOLD_SECRETS_KEYS, ONEFOLD_EGRESS_ALLOW } = process.env;
  return {
    ONEFOLD_SECRETS_KEYS: ONEFOLD_SECRETS_KEYS || (await keptKey(join(folder, 'secrets-keys'))),
    ONEFOLD_EGRESS_ALLOW: ONEFOLD_EGRESS_ALLOW || ownMachine,
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
