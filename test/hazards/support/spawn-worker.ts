import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CrashPoint } from './crashing-shop.js';
import { until } from './until.js';

/** What a worker process is told. */
export interface WorkerProcessSettings {
  readonly address: string;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  readonly crashAt: CrashPoint;
}

/** A worker in a process of its own. */
export interface WorkerProcess {
  readonly pid: number;
  /** Resolves with the signal that ended it, if one did. */
  readonly exited: Promise<NodeJS.Signals | null>;
  /** Resolves when it has told its parent so. */
  says(word: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
const living = new Set<ChildProcess>();
const spawning = new Set<() => void>();
// A test file that dies must not leave a frozen worker behind.
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Starts a worker process; resolves when it takes work. The signal kills it. */
export function spawnWorker(settings: WorkerProcessSettings, signal?: AbortSignal): Promise<WorkerProcess> {
  return forkWorker(script, settings, signal);
}

/** Runs a script that makes a worker of its settings and says when it takes work; resolves then. The signal kills it. */
export async function forkWorker(path: string, settings: object, signal?: AbortSignal): Promise<WorkerProcess> {
  const child = fork(path, {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, ONEFOLD_TEST_WORKER: JSON.stringify(settings) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  living.add(child);
  signal?.addEventListener('abort', () => child.kill('SIGKILL'));
  const exited = once(child, 'exit').then(([, signal]) => {
    living.delete(child);
    return signal as NodeJS.Signals | null;
  });
  const said = new Set<unknown>();
  child.on('message', (word) => said.add(word));
  await Promise.race([
    once(child, 'message'),
    exited.then((signal) => Promise.reject(new Error(`the worker process ended before it was ready: ${signal}`))),
  ]);
  return {
    pid: child.pid as number,
    exited,
    says: async (word) => void (await until(`the worker process to say '${word}'`, () => said.has(word))),
    kill: (signal) => void child.kill(signal),
  };
}

/** Starts worker processes one after the other, whenever the last one has died, until stopped. */
export function keepSpawning(settings: WorkerProcessSettings): {
  readonly deaths: () => number;
  stop(): Promise<void>;
} {
  let stopped = false;
  let deaths = 0;
  const current = new AbortController();
  spawning.add(() => {
    stopped = true;
    current.abort();
  });
  const loop = (async () => {
    while (!stopped) {
      await (await spawnWorker(settings, current.signal)).exited;
      deaths += 1;
    }
  })().catch((error: unknown) => {
    if (!stopped) throw error;
  });
  return {
    deaths: () => deaths,
    async stop() {
      stopped = true;
      current.abort();
      await loop;
    },
  };
}

/** Kills every worker process that still lives, frozen ones included; no further one is started. */
export async function killWorkers(): Promise<void> {
  for (const stop of spawning) stop();
  const ends = [...living].map((child) => once(child, 'exit'));
  for (const child of living) child.kill('SIGKILL');
  await Promise.all(ends);
}
