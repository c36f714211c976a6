import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OnefoldError } from '../errors.js';
import type { Onefold } from '../onefold.js';
import { operationsContext } from '../operations/context.js';
import { readTypeScript } from './read-typescript.js';

/** Where the configuration is looked for when nobody says. */
const configNames = ['onefold.ts', 'onefold.mts', 'onefold.js', 'onefold.mjs'];

/**
 * Finds the module that exports `onefold`.
 *
 * @param given A path, from the option or the environment; undefined to look in the working folder.
 * @param near A file whose own folder and those above it are looked in next, up to the working folder.
 * @throws {OnefoldError} `config_missing` when there is none.
 */
export function findConfig(given: string | undefined, near?: string): string {
  const wanted = given === undefined ? ['.', ...foldersOf(near)].flatMap(inFolder) : [given];
  const found = wanted.find((name) => existsSync(name));
  if (found !== undefined) return resolve(found);
  throw new OnefoldError(
    'config_missing',
    given === undefined
      ? `no ${configNames[0]} in ${process.cwd()}. Name the module that exports \`onefold\` by --config or ONEFOLD_CONFIG; beside a running \`onefold dev\`, read its environment file first.`
      : `no configuration at ${resolve(given)}. Correct --config or ONEFOLD_CONFIG.`,
  );
}

function inFolder(folder: string): string[] {
  return configNames.map((name) => join(folder, name));
}

/** A file's folder and those above it, as long as they lie in the working folder. */
function foldersOf(file: string | undefined): string[] {
  if (file === undefined) return [];
  const parts = relative('.', dirname(resolve(file))).split(sep);
  if (parts[0] === '..' || parts[0] === '') return [];
  return parts.map((_, index) => join(...parts.slice(0, parts.length - index)));
}

/**
 * Loads the user's module; TypeScript is read as it is.
 *
 * @throws {OnefoldError} `config_invalid` when it exports no `onefold`; whatever the module itself throws.
 */
export async function loadConfig(given: string | undefined, near?: string): Promise<Onefold> {
  const file = findConfig(given, near);
  if (/\.[mc]?ts$/.test(file) && !import.meta.url.endsWith('.ts')) await readTypeScript(file);
  const module = (await import(pathToFileURL(file).href)) as Exports & { readonly default?: Exports };
  // Of a CommonJS module Node may see the default export alone, which holds all others.
  const onefold = module.onefold ?? module.default?.onefold;
  if (isOnefold(onefold)) return onefold;
  throw new OnefoldError(
    'config_invalid',
    `${file} does not export \`onefold\`: write \`export const onefold = createOnefold({ … })\``,
  );
}

interface Exports {
  readonly onefold?: unknown;
}

function isOnefold(value: unknown): value is Onefold {
  return typeof value === 'object' && value !== null && operationsContext in value;
}
