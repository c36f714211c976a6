import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Servers } from './servers.js';

/** A receiver and a worker, each a process of its own. */
export interface System {
  /** Where deliveries go. */
  readonly url: string;
  readonly receiverPid: number;
  readonly workerPid: number;
  stop(): Promise<void>;
}

/** The systems that are compared, by name. */
export const systemNames = ['onefold', 'bare'] as const;
export type SystemName = (typeof systemNames)[number];

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const main = path('../dist/cli/main.js');
const config = path('./onefold.ts');

/** How each is started: Onefold as it is built, the bare one from its TypeScript, which costs at the start alone. */
const commands: Readonly<Record<SystemName, { readonly receiver: string[]; readonly worker: string[] }>> = {
  onefold: { receiver: [main, 'receiver', '--config', config], worker: [main, 'worker', '--config', config] },
  bare: {
    receiver: ['--import', 'tsx', path('./bare/receiver.ts')],
    worker: ['--import', 'tsx', path('./bare/worker.ts')],
  },
};

const readyWithinMs = 60_000;
const endWithinMs = 20_000;
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts a system; resolves when it takes deliveries and work. */
export async function startSystem(name: SystemName, servers: Servers): Promise<System> {
  const environment = {
    ...process.env,
    DATABASE_URL: servers.databaseUrl,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TASK_QUEUE: 'bare',
    ONEFOLD_HOST: '127.0.0.1',
    ONEFOLD_PORT: '0',
    ONEFOLD_TASK_QUEUE: 'bench',
  };
  const [worker, receiver] = await Promise.all(
    (['worker', 'receiver'] as const).map((part) => {
      const log = createWriteStream(join(servers.folder, `${name}-${part}.log`), { flags: 'a' });
      return startProcess(commands[name][part], environment, `${part}.ready`, log);
    }),
  );
  if (!worker || !receiver) throw new TypeError('two processes were started');
  return {
    url: `${receiver.ready.url}/bench`,
    receiverPid: receiver.pid,
    workerPid: worker.pid,
    async stop() {
      await receiver.stop();
      await worker.stop();
    },
  };
}

interface StartedProcess {
  readonly pid: number;
  /** The line that said so. */
  readonly ready: { readonly url?: string };
  stop(): Promise<void>;
}

async function startProcess(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  readyLine: string,
  log: NodeJS.WritableStream,
): Promise<StartedProcess> {
  const child = spawn(process.execPath, [...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  const exited = once(child, 'exit').then(() => void children.delete(child));
  // As a log collector would: every line is taken and kept.
  child.stdout?.pipe(log);
  const ready = new Promise<StartedProcess['ready']>((resolve, reject) => {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      if (!line.includes(readyLine)) return;
      lines.close();
      child.stdout?.resume();
      resolve(JSON.parse(line));
    });
    const late = setTimeout(() => reject(new Error(`${args.at(-1)} was not ready in time`)), readyWithinMs);
    void exited.then(() => reject(new Error(`${args.at(-1)} ended before it was ready`)));
    late.unref();
  });
  return {
    pid: child.pid ?? 0,
    ready: await ready,
    async stop() {
      const kill = setTimeout(() => child.kill('SIGKILL'), endWithinMs);
      child.kill('SIGTERM');
      await exited;
      clearTimeout(kill);
    },
  };
}
