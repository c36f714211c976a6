import { writeFile } from 'node:fs/promises';
import { environmentFile, madeHere } from './environment-file.js';

/** What another terminal needs, so that its commands find the same servers and secrets as the app. */
const shared = [
  'DATABASE_URL',
  'ONEFOLD_CONFIG',
  'ONEFOLD_SCHEMA',
  'ONEFOLD_TASK_QUEUE',
  'ONEFOLD_SECRETS_KEYS',
  'ONEFOLD_EGRESS_ALLOW',
  'ONEFOLD_EGRESS_ALLOW_TENANTS',
] as const;

/**
 * Writes a file that a POSIX shell reads with `.`; nobody else may read it, since it holds secrets. Beside what is named
 * above it has every `TEMPORAL_*` that the app gets, and takes back those that are kept from the app.
 *
 * @param environment The app's.
 * @param given What this process was given; whatever of the app's differs from that was made here, and is marked so.
 * @returns Its path.
 */
export async function writeEnvironmentFile(
  folder: string,
  environment: NodeJS.ProcessEnv,
  given: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const file = environmentFile(folder);
  const temporal = Object.keys(environment).filter((name) => name.startsWith('TEMPORAL_'));
  const lines = [...shared, ...temporal.sort()].flatMap((name) => {
    const value = environment[name];
    if (value === undefined) return name.startsWith('TEMPORAL_') ? [`unset ${name}\n`] : [];
    if (value === '') return [];
    return [`export ${name}='${value.replaceAll("'", `'\\''`)}'${value === given[name] ? '' : madeHere}\n`];
  });
  await writeFile(file, lines.join(''), { mode: 0o600 });
  return file;
}
