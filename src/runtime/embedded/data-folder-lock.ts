import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OnefoldError } from '../../errors.js';
import { processStart } from './process-start.js';

interface Holder {
  readonly pid: number;
  readonly start: string | undefined;
  readonly released?: boolean;
}

/**
 * Takes a data folder for this process, or says who has it. A holder that died, however it went, loses it.
 *
 * Locks are files with rising numbers, `lock.1`, `lock.2`, …: only the highest counts, and taking the folder means to
 * create the next one, which the file system lets one process do. Removing a dead holder's file and creating it anew
 * would let two starts at once each remove what the other has just created. A release is a word in the file and not its
 * removal, so that numbers never fall.
 *
 * @returns What gives the folder back.
 * @throws {OnefoldError} `data_folder_busy` naming the process that has it.
 */
export async function lockDataFolder(folder: string): Promise<() => Promise<void>> {
  const me: Holder = { pid: process.pid, start: await processStart(process.pid) };
  for (;;) {
    const newest = Math.max(0, ...(await lockNumbers(folder)));
    const holder = await readHolder(lockFile(folder, newest));
    if (holder !== undefined && (await isAlive(holder))) {
      throw new OnefoldError(
        'data_folder_busy',
        `process ${holder.pid} works on the data folder ${folder}. Stop it, or choose another folder by --data, ` +
          'or --ephemeral for one that is thrown away.',
      );
    }
    const mine = newest + 1;
    if (await createWhole(folder, mine, me)) {
      for (const number of await lockNumbers(folder)) {
        if (number < mine) await rm(lockFile(folder, number), { force: true });
      }
      return () => replaceWhole(folder, mine, { ...me, released: true });
    }
  }
}

function lockFile(folder: string, number: number): string {
  return join(folder, `lock.${number}`);
}

async function lockNumbers(folder: string): Promise<number[]> {
  return (await readdir(folder)).flatMap((name) => {
    const match = /^lock\.(\d+)$/.exec(name);
    return match ? [Number(match[1])] : [];
  });
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

async function isAlive(holder: Holder): Promise<boolean> {
  if (holder.released === true) return false;
  const start = await processStart(holder.pid);
  return start !== undefined && start === holder.start;
}

/** Creates the lock with its content in one step: a reader never finds it empty. False when it is there already. */
async function createWhole(folder: string, number: number, holder: Holder): Promise<boolean> {
  const draft = await writeDraft(folder, holder);
  try {
    await link(draft, lockFile(folder, number));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function replaceWhole(folder: string, number: number, holder: Holder): Promise<void> {
  await rename(await writeDraft(folder, holder), lockFile(folder, number));
}

async function writeDraft(folder: string, holder: Holder): Promise<string> {
  const draft = join(folder, `draft.${randomUUID()}`);
  await writeFile(draft, JSON.stringify(holder));
  return draft;
}
