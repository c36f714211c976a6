import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OnefoldError } from '../../errors.js';
import { sha256 } from '../sha256.js';
import { type Account, isReachable, postgresAccount } from './account.js';
import { lockDataFolder } from './data-folder-lock.js';
import { makeFolder } from './make-folder.js';
import type { Progress } from './progress.js';

/** Where root's data folders lie whose own place is closed to the user that runs PostgreSQL. */
const stateFolder = '/var/lib/onefold';

/** How long an earlier process may take to give the folder back, and how often it is asked, in ms. */
const handOverMs = 5_000;
const handOverPollMs = 100;

/** The folder of the embedded servers, held by this process alone. */
export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  /** Gives it back; removes it where it is ephemeral. */
  close(): Promise<void>;
}

/**
 * Opens the folder that keeps the embedded servers' data and what else belongs to the project, creating it where missing.
 *
 * Root's PostgreSQL runs as another user, who cannot get into a project below root's closed home. The data then lie in
 * `/var/lib/onefold/<project>-<hash of the path>`, the same at every start, and a line of progress says so.
 *
 * @param wished Relative to the working directory.
 * @throws {OnefoldError} `data_folder_busy` when another process works on it and goes on to.
 */
export async function openDataFolder(wished: string, progress: Progress): Promise<DataFolder> {
  const path = await reachablePlace(resolve(wished), progress);
  await makeFolder(path);
  const release = await lockPatiently(path, progress);
  // Whoever commits everything in their project does not mean this.
  await writeFile(join(path, '.gitignore'), '*\n');
  return { path, close: release };
}

/** Where the folder that {@link openDataFolder} opens lies, or would lie. */
export function dataFolderPlace(wished: string): Promise<string> {
  return reachablePlace(resolve(wished), () => {});
}

/** Makes a folder that is removed at the end. */
export async function openEphemeralFolder(): Promise<DataFolder> {
  const path = await mkdtemp(join(await reachableTemporaryFolder(), 'onefold-'));
  if (process.getuid?.() === 0) await chmod(path, 0o711);
  return { path, close: () => rm(path, { recursive: true, force: true }) };
}

/** A start right after an end finds the earlier process still draining. */
async function lockPatiently(path: string, progress: Progress): Promise<() => Promise<void>> {
  const deadline = Date.now() + handOverMs;
  for (let waited = false; ; waited = true) {
    try {
      return await lockDataFolder(path);
    } catch (error) {
      if (!(error instanceof OnefoldError) || error.code !== 'data_folder_busy' || Date.now() > deadline) throw error;
      if (!waited) progress(`waiting for the process that works on ${path} to end`);
    }
    await pause(handOverPollMs);
  }
}

async function reachablePlace(path: string, progress: Progress): Promise<string> {
  const account = await accountIfAny(join(path, 'postgres'));
  if (account === undefined || (await isReachable(path, account))) return path;
  const project = basename(path).startsWith('.') ? basename(dirname(path)) : basename(path);
  const place = join(stateFolder, `${project}-${sha256(path).slice(0, 8)}`);
  progress(`the user that runs PostgreSQL cannot reach ${path}; data are kept in ${place} instead`);
  return place;
}

async function reachableTemporaryFolder(): Promise<string> {
  const account = await accountIfAny('');
  const places = [tmpdir(), '/tmp', '/var/tmp'];
  if (account === undefined) return places[0] as string;
  for (const place of places) if (await isReachable(place, account)) return place;
  return places[0] as string;
}

/** Without any, what starts PostgreSQL says so; a folder is of use where it is another's, too. */
function accountIfAny(existing: string): Promise<Account | undefined> {
  return postgresAccount(existing).catch(() => undefined);
}
