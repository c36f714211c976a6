import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { OnefoldError } from '../../errors.js';
import { makeFolder } from './make-folder.js';

/**
 * The folder where downloaded and unpacked executables are kept for all projects, created where missing: the variable
 * `ONEFOLD_CACHE`, else `/var/cache/onefold` for root, else `$XDG_CACHE_HOME/onefold`, else `~/.cache/onefold`.
 *
 * Root's own home is closed to others, and PostgreSQL refuses to run as root: what it runs must lie where another user
 * can read it.
 *
 * @throws {OnefoldError} `embedded_unavailable` when the folder cannot be made.
 */
export async function cacheFolder(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  const folder = chooseFolder(environment);
  try {
    await makeFolder(folder);
  } catch (error) {
    throw new OnefoldError(
      'embedded_unavailable',
      `the cache folder ${folder} cannot be made: ${(error as Error).message}. Name another one in ONEFOLD_CACHE.`,
      { cause: error },
    );
  }
  return folder;
}

function chooseFolder(environment: NodeJS.ProcessEnv): string {
  if (environment.ONEFOLD_CACHE) return resolve(environment.ONEFOLD_CACHE);
  if (process.getuid?.() === 0) return '/var/cache/onefold';
  if (environment.XDG_CACHE_HOME) return join(environment.XDG_CACHE_HOME, 'onefold');
  return join(homedir(), '.cache', 'onefold');
}
