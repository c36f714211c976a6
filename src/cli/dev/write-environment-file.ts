import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What another terminal needs, so that its commands find the same servers and secrets as the app. */
const shared = [
  'DATABASE_URL',
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_CONFIG_FILE',
  'ONEFOLD_CONFIG',
  'ONEFOLD_SCHEMA',
  'ONEFOLD_SECRETS_KEYS',
  'ONEFOLD_EGRESS_ALLOW',
] as const;

/**
 * Writes a file that a POSIX shell reads with `.`; nobody else may read it, since it holds secrets.
 *
 * @returns Its path.
 */
export async function writeEnvironmentFile(folder: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const file = join(folder, 'env');
  const lines = shared.flatMap((name) => {
    const value = environment[name];
    return value === undefined || value === '' ? [] : [`export ${name}='${value.replaceAll("'", `'\\''`)}'\n`];
  });
  await writeFile(file, lines.join(''), { mode: 0o600 });
  return file;
}
