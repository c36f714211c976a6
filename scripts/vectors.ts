import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FileVerdict, judgeVectors, type VectorFile } from './judge-vectors.js';

const usage = `usage: npm run vectors -- DIR [--allow-missing]

Judges every *.json of the folder DIR, a file of webhook test vectors per provider, with the presets of Onefold.
Exit status: 0 all agree, 1 a vector differs or a provider has no preset (unless --allow-missing), 2 wrong usage.`;

/** @returns the exit status. */
function main(args: readonly string[]): number {
  const options = args.filter((arg) => arg.startsWith('-'));
  const [folder, ...others] = args.filter((arg) => !arg.startsWith('-'));
  const unknown = options.find((option) => option !== '--allow-missing');
  if (folder === undefined || others.length > 0 || unknown !== undefined) {
    console.error(unknown === undefined ? usage : `unknown option ${unknown}\n\n${usage}`);
    return 2;
  }
  let names: readonly string[];
  try {
    names = readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .sort();
  } catch (error) {
    console.error(`cannot read the folder ${folder}: ${(error as Error).message}`);
    return 2;
  }
  if (names.length === 0) {
    console.error(`no *.json in ${folder}`);
    return 2;
  }
  const allowMissing = options.includes('--allow-missing');
  const agreed = names.map((name) => judgeFile(join(folder, name), name, allowMissing));
  return agreed.every(Boolean) ? 0 : 1;
}

/** Prints what a file came to, and says whether that is a success. */
function judgeFile(path: string, name: string, allowMissing: boolean): boolean {
  let verdict: FileVerdict;
  try {
    verdict = judgeVectors(JSON.parse(readFileSync(path, 'utf8')) as VectorFile);
  } catch (error) {
    console.log(`${name}: not a file of vectors: ${(error as Error).message}`);
    return false;
  }
  const { provider, supported, total, differing } = verdict;
  if (!supported) {
    console.log(`${name}: ${provider}, ${total} vectors: not yet supported`);
    return allowMissing;
  }
  for (const { name: vector, differences } of differing) {
    console.log(`${name}: ${vector}`);
    for (const difference of differences) console.log(`    ${difference}`);
  }
  console.log(`${name}: ${provider}, ${total - differing.length} of ${total} vectors agree`);
  return differing.length === 0;
}

process.exitCode = main(process.argv.slice(2));
