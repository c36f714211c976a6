import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';

/** What `onefold send` takes by itself; anything else it has to be told. */
const ownPort = '8080';

/**
 * The command that shows a newcomer what Onefold does: one event, delivered twice. It sends an example from the folder
 * `events` beside the configuration, or else what is typed.
 *
 * @param source The first source, or undefined without any.
 */
export async function commandToTry(
  configFile: string,
  source: { readonly name: string; readonly url: string } | undefined,
): Promise<string> {
  if (source === undefined) return 'npx onefold --help';
  const url = new URL(source.url).port === ownPort ? '' : ` --url ${source.url}`;
  const file = (await exampleEvent(join(dirname(configFile), 'events'))) ?? '-';
  // Above an example lies its configuration, where `send` looks by itself; standard input lies nowhere.
  const config = relative(process.cwd(), configFile);
  const told =
    config === 'onefold.ts' || (file !== '-' && basename(config) === 'onefold.ts') ? '' : ` --config ${config}`;
  return `npx onefold send ${file} --source ${source.name} --times 2${told}${url}`;
}

/** The one with the shortest name: variants are named after the plain case, with more words. */
async function exampleEvent(folder: string): Promise<string | undefined> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'));
  const [plain] = names.sort((a, b) => a.length - b.length || a.localeCompare(b));
  return plain === undefined ? undefined : relative(process.cwd(), join(folder, plain));
}
