import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { until } from '../../hazards/support/until.js';

/** The executable as the package ships it; the build comes before the tests. */
const builtExecutable = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

/** What a command that ended by itself left. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A line of a process's log. */
export interface LogLine {
  readonly msg: string;
  readonly level: string;
  readonly time: string;
  readonly [field: string]: unknown;
}

/** A command that runs until it is told to stop. */
export interface Running {
  readonly child: ChildProcess;
  readonly lines: readonly LogLine[];
  stderr(): string;
  /** Waits for a line of the log. */
  line(msg: string, withinMs?: number): Promise<LogLine>;
  /** Resolves when it has ended. */
  readonly ended: Promise<Ended>;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended & { readonly ms: number }>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** Default: the one that the build left. */
  readonly executable?: string;
}

const running = new Set<ChildProcess>();
// A test file that dies leaves nothing behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** This process's environment without what would configure Onefold or Temporal, and with what is given. */
function environmentOf(given: RunOptions['env'] = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(ONEFOLD|TEMPORAL|DATABASE_URL|EXAMPLE|VITEST|NODE_OPTIONS|[A-Z]+_WEBHOOK_SECRETS)/.test(name),
  );
  return Object.fromEntries([...inherited, ...Object.entries(given)].filter(([, value]) => value !== undefined));
}

/** Starts `onefold …` as a process of its own. */
export function startOnefold(args: readonly string[], options: RunOptions = {}): Running {
  const child = spawn(process.execPath, [options.executable ?? builtExecutable, ...args], {
    cwd: options.cwd,
    env: environmentOf(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  running.add(child);
  child.stdin?.end(options.stdin ?? '');
  const lines: LogLine[] = [];
  let stdout = '';
  let stderr = '';
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (text) => {
    stdout += `${text}\n`;
    if (text.startsWith('{"level"')) lines.push(JSON.parse(text));
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  const ended = once(child, 'close').then(([code]): Ended => {
    running.delete(child);
    return { code: code as number | null, stdout, stderr };
  });
  return {
    child,
    lines,
    stderr: () => stderr,
    ended,
    line: (msg, withinMs = 60_000) =>
      until(
        `the line ${msg}`,
        () => {
          if (child.exitCode !== null) throw new Error(`onefold ${args[0]} ended before ${msg}: ${stderr}`);
          return lines.find((line) => line.msg === msg);
        },
        withinMs,
      ),
    async stop(signal = 'SIGTERM') {
      const began = Date.now();
      child.kill(signal);
      return { ...(await ended), ms: Date.now() - began };
    },
  };
}

/** Runs `onefold …` to its end. */
export function onefold(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return startOnefold(args, options).ended;
}

/** Ends what a test left running. */
export async function endAll(): Promise<void> {
  const ends = [...running].map((child) => once(child, 'close'));
  for (const child of running) child.kill('SIGKILL');
  await Promise.all(ends);
}
