import { existsSync, readFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Makes Node read a TypeScript module and what it imports, in ECMAScript packages and in CommonJS ones. */
export async function readTypeScript(file: string): Promise<void> {
  const { register } = await import('tsx/esm/api');
  // The user's path aliases are for their compiler; an alias of this package would load a second copy of it.
  register({ tsconfig: false });
  if (!isCommonJs(file)) return;
  await shareThisPackage();
  const commonJs = await import('tsx/cjs/api');
  commonJs.register();
}

/** By Node's own rule: the extension says, else the nearest package.json, else it is CommonJS. */
function isCommonJs(file: string): boolean {
  if (/\.[mc]ts$/.test(file)) return file.endsWith('.cts');
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest)) {
      return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly type?: string }).type !== 'module';
    }
    if (dirname(folder) === folder) return true;
  }
}

/** Lets `require('onefold')` find this copy of the package, where the loader would compile a second one from it. */
async function shareThisPackage(): Promise<void> {
  const index = new URL('../index.js', import.meta.url);
  const path = fileURLToPath(index);
  const shared = new Module(path);
  shared.exports = await import(index.href);
  shared.loaded = true;
  createRequire(import.meta.url).cache[path] = shared;
}
