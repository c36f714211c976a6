import { chmod, mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and its missing parents. What root makes is opened for others to pass through, whatever the umask says,
 * since PostgreSQL runs as another user then; what was there before stays as it is.
 */
export async function makeFolder(folder: string): Promise<void> {
  const path = resolve(folder);
  const first = await mkdir(path, { recursive: true });
  if (first === undefined || process.getuid?.() !== 0) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await chmod(made, 0o755);
}
