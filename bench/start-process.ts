import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A process of a system, that is ready. */
export interface StartedProcess {
  readonly pid: number;
  /** The line that said so. */
  readonly ready: { readonly url?: string };
  /** Asks it over IPC, and resolves with what it answers; one question at a time. */
  ask(question: object): Promise<unknown>;
  stop(): Promise<void>;
}

/** What is started, and where its lines go. */
export interface ProcessToStart {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The `msg` of the line by which it says that it is ready. */
  readonly readyLine: string;
  readonly log: NodeJS.WritableStream;
}

const readyWithinMs = 60_000;
const endWithinMs = 20_000;
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts a process of Node; resolves when it says that it is ready. */
export async function startProcess({ args, env, readyLine, log }: ProcessToStart): Promise<StartedProcess> {
  const child = spawn(process.execPath, [...args], { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
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
    async ask(question) {
      const answered = once(child, 'message');
      child.send(question);
      const ended = exited.then(() => Promise.reject(new Error(`${args.at(-1)} ended before it answered`)));
      const [answer] = await Promise.race([answered, ended]);
      return answer;
    },
    async stop() {
      const kill = setTimeout(() => child.kill('SIGKILL'), endWithinMs);
      child.kill('SIGTERM');
      await exited;
      clearTimeout(kill);
    },
  };
}
