import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { processStart } from '../../../src/runtime/embedded/process-start.js';

const program = fileURLToPath(new URL('./dev-with-fake-app.ts', import.meta.url));
const loader = import.meta.resolve('tsx');

/** The line that `--json` prints. */
export interface ReadyLine {
  readonly ready: true;
  readonly receiver: string;
  readonly sources: { name: string; url: string }[];
  readonly temporal: { address: string; ui: string | null; namespace: string };
  readonly postgres: { url: string };
  readonly data: string | null;
  readonly environment: string;
  readonly pid: number;
  readonly appPid: number;
}

/** A project with a configuration, and the `onefold dev` processes that run in it. */
export interface Project {
  readonly folder: string;
  /** Writes the configuration, which the fake app serves. */
  save(source: string): Promise<void>;
  /** Starts `onefold dev --json`, on any free ports unless told otherwise. */
  dev(options?: { args?: string[]; env?: NodeJS.ProcessEnv }): DevProcess;
  /** Ends what still runs and removes the project. */
  close(): Promise<void>;
}

/** One run of `onefold dev`. */
export interface DevProcess {
  readonly child: ChildProcess;
  /** Resolves with the ready line. */
  readonly ready: Promise<ReadyLine>;
  /** Resolves with the exit code. */
  readonly exitCode: Promise<number | null>;
  /** What it wrote so far, by stream. */
  readonly output: { stdout: string; stderr: string };
  /** Process ids of the app and the servers, as recorded. */
  serverPids(): Promise<number[]>;
}

export async function createProject(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'onefold-project-'));
  await chmod(folder, 0o711);
  await mkdir(join(folder, 'events'));
  const config = join(folder, 'onefold.mjs');
  const running: DevProcess[] = [];
  const save = (source: string) => writeFile(config, source);
  await save("export const answer = 'one';");
  return {
    folder,
    save,
    dev({ args = [], env = {} } = {}) {
      const ports = ['--port', '0', '--temporal-port', '0', '--ui-port', '0', '--postgres-port', '0'];
      const child = spawn(process.execPath, ['--import', loader, program, '--json', ...ports, ...args], {
        cwd: folder,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const dev = watch(child, folder);
      running.push(dev);
      return dev;
    },
    async close() {
      for (const dev of running) dev.child.kill('SIGKILL');
      for (const dev of running) await dev.exitCode;
      // The records are those of the last; the pids of an earlier one are the test's own affair.
      for (const dev of running) await allEnded(await dev.serverPids());
      await rm(folder, { recursive: true });
    },
  };
}

function watch(child: ChildProcess, folder: string): DevProcess {
  const output = { stdout: '', stderr: '' };
  child.stderr?.on('data', (chunk: Buffer) => {
    output.stderr += chunk;
  });
  const exitCode = once(child, 'exit').then(([code]) => code as number | null);
  const ready = new Promise<ReadyLine>((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      output.stdout += `${line}\n`;
      if (line.startsWith('{"ready":true')) resolve(JSON.parse(line));
    });
    void exitCode.then((code) => reject(new Error(`ended with ${code} before it was ready: ${output.stderr}`)));
  });
  // A test that expects a refusal does not wait for it.
  ready.catch(() => {});
  return {
    child,
    ready,
    exitCode,
    output,
    async serverPids() {
      const data = await ready.then(
        (line) => line.data,
        () => null,
      );
      const names = ['app.process', 'temporal.process', 'postgres.process'];
      const records = names.map((name) =>
        readFile(join(data ?? join(folder, '.onefold'), name), 'utf8').catch(() => ''),
      );
      return (await Promise.all(records)).flatMap((text) => (text === '' ? [] : [JSON.parse(text).pid as number]));
    },
  };
}

/** Waits until none of the processes runs any more. */
export async function allEnded(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    await vi.waitFor(
      async () => {
        if ((await processStart(pid)) !== undefined) throw new Error(`process ${pid} still runs`);
      },
      { timeout: 30_000, interval: 50 },
    );
  }
}

/** What the fake app answers: the configuration it has loaded, and its process id. */
export async function askApp(receiver: string): Promise<{ answer: string; pid: number }> {
  return (await fetch(receiver)).json() as Promise<{ answer: string; pid: number }>;
}
