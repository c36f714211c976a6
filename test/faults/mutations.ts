import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Mutation, mutations } from './support/mutations.js';

/**
 * `npm run prove:mutations`: takes one rule after the other out of a copy of the sources and runs the tests that must
 * notice. Words after it choose the mutations that have them in their name.
 *
 * Exit code: 0 all caught, 1 one was not, 2 one does not apply any more or the unchanged sources fail.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const copied = ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

/** What a run of vitest wrote, as far as it is read here. */
interface Report {
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly status: string; readonly message: string }[];
}

/** How the tests came out: a file that could not even be read proves nothing. */
type Came = 'passed' | 'failed' | 'broken';

class Stale extends Error {}

async function main(): Promise<number> {
  const words = process.argv.slice(2);
  const chosen = mutations.filter(({ what }) => words.every((word) => what.includes(word)));
  const folder = await mkdtemp(join(tmpdir(), 'onefold-mutations-'));
  try {
    for (const name of copied) await cp(join(root, name), join(folder, name), { recursive: true });
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const { what, file, find } of chosen) {
      if ((await readFile(join(folder, file), 'utf8')).split(find).length === 2) continue;
      throw new Stale(`'${what}' does not apply: ${file} must hold this exactly once: ${find}`);
    }
    const files = [...new Set(chosen.flatMap(({ caughtBy }) => caughtBy))];
    if ((await runTests(folder, files)) !== 'passed') throw new Stale('the tests do not pass on the unchanged sources');
    let survived = 0;
    for (const mutation of chosen) {
      const caught = await isCaught(folder, mutation);
      if (!caught) survived += 1;
      process.stdout.write(`${caught ? 'caught    ' : 'NOT CAUGHT'}  ${mutation.what} (${mutation.file})\n`);
    }
    process.stdout.write(`${chosen.length - survived} of ${chosen.length} mutations caught\n`);
    return survived === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isCaught(folder: string, { what, file, find, replace, caughtBy }: Mutation): Promise<boolean> {
  const path = join(folder, file);
  const source = await readFile(path, 'utf8');
  await writeFile(
    path,
    source.replace(find, () => replace),
  );
  try {
    const came = await runTests(folder, caughtBy);
    if (came === 'broken') throw new Stale(`'${what}' makes ${file} unreadable`);
    return came === 'failed';
  } finally {
    await writeFile(path, source);
  }
}

async function runTests(folder: string, files: readonly string[]): Promise<Came> {
  const output = join(folder, 'report.json');
  await rm(output, { force: true });
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--project', 'live', '--bail', '1', '--reporter', 'json', '--outputFile', output, ...files],
    { cwd: folder, stdio: ['ignore', 'ignore', 'ignore'] },
  );
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  if (code === 0) return 'passed';
  const report = await readFile(output, 'utf8').then(
    (text) => JSON.parse(text) as Report,
    () => undefined,
  );
  if (!report) return 'broken';
  const unreadable = report.testResults.some(({ message }) => /SyntaxError|Transform failed|PARSE_ERROR/.test(message));
  return unreadable ? 'broken' : 'failed';
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${error instanceof Stale ? error.message : error.stack}\n`);
    process.exit(2);
  },
);
