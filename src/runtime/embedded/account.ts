import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OnefoldError } from '../../errors.js';
import { runCommand } from './run-command.js';

/** A user of the operating system, as numbers. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const lookUpTimeoutMs = 5_000;

/**
 * The user to run PostgreSQL as, which refuses to run as root: undefined (this one) for an ordinary user; for root the
 * owner of existing data, else the user `postgres`, else `nobody`. None is created: a development tool leaves the
 * machine's users alone.
 *
 * @param existing A cluster's folder that may exist.
 * @throws {OnefoldError} `embedded_unavailable` when root has neither user.
 */
export async function postgresAccount(existing: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(existing).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ['postgres', 'nobody']) {
    const uid = await lookUp('-u', name);
    const gid = await lookUp('-g', name);
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new OnefoldError(
    'embedded_unavailable',
    'PostgreSQL does not run as root, and this machine has neither a user `postgres` nor `nobody` to run it as. ' +
      'Create one, start as an ordinary user, or set DATABASE_URL.',
  );
}

async function lookUp(option: '-u' | '-g', name: string): Promise<number | undefined> {
  const answer = await runCommand('id', [option, name], { timeoutMs: lookUpTimeoutMs });
  const number = answer.ok ? Number.parseInt(answer.output, 10) : Number.NaN;
  return Number.isInteger(number) ? number : undefined;
}

/**
 * Whether a user may pass through every folder from the root to this one, by the mode bits. Folders that do not exist
 * yet count by their nearest parent.
 */
export async function isReachable(folder: string, account: Account): Promise<boolean> {
  for (let current = folder; ; current = dirname(current)) {
    const found = await stat(current).catch(() => undefined);
    if (found !== undefined) {
      const searchable =
        found.uid === account.uid
          ? found.mode & 0o100
          : found.gid === account.gid
            ? found.mode & 0o010
            : found.mode & 0o001;
      if (searchable === 0) return false;
    }
    if (current === dirname(current)) return true;
  }
}
