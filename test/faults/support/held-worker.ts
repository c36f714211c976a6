import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '../../hazards/support/until.js';
import type { LogLine } from '../../setup/harness.js';
import type { PartnerUrls } from './carrier.js';

/** What a held worker is told at its start. */
export interface HeldWorkerSettings {
  readonly address: string;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  readonly partners: PartnerUrls;
  /** Attempts that it carries at once. */
  readonly concurrency: number;
}

/** What it says to its parent. */
export type WordFromWorker = { readonly ready: true } | { readonly held: string } | { readonly line: LogLine };

export type WordToWorker = 'go on' | 'stop';

/** A worker in a process of its own, each of whose first attempts halts at the step that its event's id begins with. */
export interface HeldWorker {
  /** Event keys of the attempts that were halted. */
  readonly held: ReadonlySet<string>;
  readonly lines: readonly LogLine[];
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGSTOP. */
  freeze(): void;
  /** SIGCONT; the attempts go on from the step, and no further one is halted. */
  wake(): void;
  /** Lets it end in order, within its grace. */
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL('./held-worker-process.ts', import.meta.url));
const living = new Set<ChildProcess>();
// A test file that dies must not leave a frozen worker behind.
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Starts a held worker; resolves when it takes work. */
export async function startHeldWorker(settings: HeldWorkerSettings): Promise<HeldWorker> {
  const child = fork(script, {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, ONEFOLD_TEST_WORKER: JSON.stringify(settings) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  living.add(child);
  const exited = once(child, 'exit').then(() => void living.delete(child));
  let ready = false;
  const held = new Set<string>();
  const lines: LogLine[] = [];
  child.on('message', (word: WordFromWorker) => {
    if ('ready' in word) ready = true;
    else if ('held' in word) held.add(word.held);
    else lines.push(word.line);
  });
  // A word to a process that is just dying is lost, as is everything else that it was doing.
  child.on('error', () => {});
  const tell = (word: WordToWorker): void => void child.send(word);
  await until('a held worker that takes work', () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('the worker ended before it was ready');
    return ready;
  });
  return {
    held,
    lines,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    freeze: () => void child.kill('SIGSTOP'),
    wake() {
      tell('go on');
      child.kill('SIGCONT');
    },
    async stop() {
      tell('stop');
      await exited;
    },
  };
}

/** Kills every held worker that still lives, frozen ones included. */
export async function killHeldWorkers(): Promise<void> {
  const ends = [...living].map((child) => once(child, 'exit'));
  for (const child of living) child.kill('SIGKILL');
  await Promise.all(ends);
}
