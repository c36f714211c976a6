import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import type { AttemptStep } from '../../../src/effects/attempt-steps.js';
import { startProxy } from '../../receiver/support/switchable-proxy.js';
import type { Configuration, Harness } from '../../setup/harness.js';
import { haltedWord } from './halt-here.js';
import { forkWorker, type WorkerProcess } from './spawn-worker.js';

/** What a module exports as `configure`: the same configuration in every process that is given the same. */
export type Configure<Given> = (given: Given) => Configuration;

/** What a worker process is told. */
export interface ConfiguredWorkerSettings {
  readonly address: string;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  /** URL of the module that exports `configure`. */
  readonly module: string;
  readonly given: unknown;
  /** Where it freezes or kills itself: at a step of a first attempt at an external effect. */
  readonly halt?: { readonly at: AttemptStep; readonly by: 'SIGSTOP' | 'SIGKILL' };
}

/** A worker in a process of its own, with the configuration of a module. */
export interface ConfiguredWorker extends WorkerProcess {
  /**
   * Resolves when it has frozen itself. From then on it is cut off from Temporal, as a host that is gone: while its
   * connections stand, the server hands it tasks that it never takes up, and each costs others the time until it is missed.
   */
  frozen(): Promise<void>;
}

const script = fileURLToPath(new URL('./configured-worker-process.ts', import.meta.url));

/** Starts a worker in a process of its own on the queue and database of a harness; resolves when it takes work. */
export async function spawnConfiguredWorker(
  { taskQueue, databaseUrl }: Harness,
  settings: Pick<ConfiguredWorkerSettings, 'module' | 'given' | 'halt'>,
): Promise<ConfiguredWorker> {
  const temporal = await startProxy(inject('temporalAddress'));
  const { address } = temporal;
  const worker = await forkWorker(script, {
    address,
    taskQueue,
    databaseUrl,
    ...settings,
  } satisfies ConfiguredWorkerSettings);
  void worker.exited.then(() => temporal.become('refuse'));
  return {
    ...worker,
    async frozen() {
      await worker.says(haltedWord);
      await temporal.become('refuse');
    },
  };
}
