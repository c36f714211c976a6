import { readFile } from 'node:fs/promises';
import { environmentFile, madeHere } from './environment-file.js';

const madeLine = new RegExp(`^export (\\w+)='(.*)'${madeHere}$`);

/**
 * Takes out of an environment what an earlier start has made itself and a terminal has read from its file since: its servers
 * are not servers of the user's own, and have ended. Variables that somebody has set otherwise stay.
 *
 * @param folder The data folder, which may not exist yet.
 */
export async function forgetOwnServers(folder: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const made = await readMade(environmentFile(folder));
  const isOurs = (name: string): boolean => made.has(name) && environment[name] === made.get(name);
  if (isOurs('DATABASE_URL')) delete environment.DATABASE_URL;
  // A namespace says nothing by itself: beside an address of the user's own it is theirs, though it has the same name.
  if (!isOurs('TEMPORAL_ADDRESS')) return;
  for (const name of made.keys()) if (name.startsWith('TEMPORAL_') && isOurs(name)) delete environment[name];
}

async function readMade(file: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => madeLine.exec(line));
  return new Map(
    lines.flatMap((line) => (line ? [[line[1] as string, (line[2] as string).replaceAll(`'\\''`, "'")]] : [])),
  );
}
