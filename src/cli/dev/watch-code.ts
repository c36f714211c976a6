import { once } from 'node:events';
import { extname, relative, sep } from 'node:path';
import { watch } from 'chokidar';

/** Folders that no one edits by hand, or that a running app writes to. */
const ignoredFolders: ReadonlySet<string> = new Set(['node_modules', '.onefold', 'dist', '.git']);

/** What a configuration can be made of. Anything else, as a log that the app writes, would restart it for ever. */
const codeExtensions: ReadonlySet<string> = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json']);

/** An editor's "save all" is many writes. */
const debounceMs = 100;

/**
 * Calls back once after each burst of changes to code below a folder.
 *
 * @returns What ends the watching.
 */
export async function watchCode(folder: string, onChange: (file: string) => void): Promise<() => Promise<void>> {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, {
    ignoreInitial: true,
    ignored: (path, stats) => {
      const parts = relative(folder, path).split(sep);
      if (parts.some((part) => ignoredFolders.has(part))) return true;
      return stats?.isFile() === true && !codeExtensions.has(extname(path));
    },
  });
  watcher.on('all', (_event, path) => {
    clearTimeout(timer);
    timer = setTimeout(() => onChange(relative(folder, path)), debounceMs);
  });
  await once(watcher as unknown as NodeJS.EventEmitter, 'ready');
  return async () => {
    clearTimeout(timer);
    await watcher.close();
  };
}
