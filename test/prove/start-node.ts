import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What can be hurt, and how it comes back. */
export interface Part {
  readonly name: string;
  pid(): number;
  /** SIGKILL, at once. */
  kill(): Promise<void>;
  /** Starts it again where it stood, and resolves when it serves. */
  restart(): Promise<void>;
}

/** One process of an application. */
export interface NodeSettings {
  readonly name: string;
  /** Words after `onefold`. */
  readonly command: readonly string[];
  /** The module that exports the application. */
  readonly config: string;
  /** Where its log goes. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Takes the name of the process where it ends without being asked. */
  readonly crashed: string[];
}

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Starts a process of the built executable. */
export function startNode({ name, command, config, folder, environment, crashed }: NodeSettings): Part {
  const log = createWriteStream(logOf(folder, name), { flags: 'a' });
  const launch = (): ChildProcess => {
    const started = spawn(process.execPath, [main, ...command, '--config', config], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.stdout?.pipe(log, { end: false });
    started.stderr?.pipe(log, { end: false });
    started.once('exit', (code, signal) => {
      if (signal !== 'SIGKILL') crashed.push(`${name} (${signal ?? `exit code ${code}`})`);
    });
    return started;
  };
  let child = launch();
  return {
    name,
    pid: () => child.pid ?? 0,
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    },
    restart: async () => {
      child = launch();
    },
  };
}

/** The end of the log of a process, by its name as `crashed` has it. */
export function tailOf(folder: string, crashed: string): string {
  return readFileSync(logOf(folder, crashed.split(' ')[0] as string), 'utf8')
    .split('\n')
    .slice(-30)
    .join('\n');
}

function logOf(folder: string, name: string): string {
  return join(folder, `${name}.log`);
}
