import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const program = fileURLToPath(new URL('./start-postgres-program.ts', import.meta.url));
const loader = import.meta.resolve('tsx');

/**
 * Starts PostgreSQL on a folder from a process that leaves a table `kept` and is then killed with SIGKILL, together with
 * its guard or without it, as when a whole machine's tree of processes is cut at once.
 *
 * @returns The id of the server, which may still run.
 */
export async function startAndDie(folder: string, options: { withGuard: boolean }): Promise<{ pid: number }> {
  const parent = spawn(process.execPath, ['--import', loader, program, folder, 'stay'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = (await once(parent.stdout, 'data')) as [Buffer];
  const { pid } = JSON.parse(output.toString()) as { pid: number };
  if (!options.withGuard) await killGuardOf(pid);
  const ended = once(parent, 'exit');
  parent.kill('SIGKILL');
  await ended;
  return { pid };
}

async function killGuardOf(pid: number): Promise<void> {
  for (const guard of await processesWith(`onefold-guard ${pid} INT`)) process.kill(guard, 'SIGKILL');
}

/** Slim images have no `pgrep`, and other systems than Linux no `/proc`. */
async function processesWith(words: string): Promise<number[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await promisify(execFile)('pgrep', ['-f', words]);
    return stdout.trim().split('\n').map(Number);
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = pids.map(async (pid) => {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return command.replaceAll('\0', ' ').includes(words) ? [Number(pid)] : [];
  });
  return (await Promise.all(found)).flat();
}

/**
 * Starts PostgreSQL as an ordinary user: this one, or `nobody` where this one is root. All its files are removed.
 *
 * @returns What the database answered, and whether the data belong to that user.
 */
export async function startAsOrdinaryUser(): Promise<{ answer: number; ownsData: boolean }> {
  const home = await mkdtemp(join(tmpdir(), 'onefold-ordinary-'));
  try {
    const user = process.getuid?.() === 0 ? [await giveToNobody(home)] : [];
    const args = ['--import', loader, program, join(home, 'data'), 'as-ordinary-user', ...user];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return JSON.parse(stdout);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function giveToNobody(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('id', ['-u', 'nobody']);
  const uid = stdout.trim();
  await chown(folder, Number(uid), Number(uid));
  return uid;
}
