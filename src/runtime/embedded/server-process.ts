import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { OnefoldError } from '../../errors.js';
import { guardProcess } from './guard-process.js';
import { recordProcess } from './process-record.js';

/** How much of a server's log an error message quotes. */
const quotedLogBytes = 2_000;

/** One way to ask a process to end, and how long to wait for it, in ms. */
export interface StopStep {
  readonly signal: 'SIGINT' | 'SIGTERM' | 'SIGQUIT' | 'SIGKILL';
  readonly patienceMs: number;
}

export interface ServerProcessOptions {
  /** What messages call it. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Both output streams go here; begun anew with each start. */
  readonly logFile: string;
  /** Where process id and start are kept, so that a later start finds it. See `stopRecordedProcess`. */
  readonly recordFile: string;
  /** The user to run as; only root may say so. */
  readonly account?: { readonly uid: number; readonly gid: number };
  /** Tried one after the other. The first is what the guard sends when this process is gone. */
  readonly stopSteps: readonly [StopStep & { readonly signal: 'SIGINT' | 'SIGTERM' }, ...StopStep[]];
}

/** A server that this process started. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves when it has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /** Whether it has ended. */
  hasExited(): boolean;
  /** The last lines of its log. */
  logTail(): Promise<string>;
  /** Ends it and waits for that. Safe to call again, and with `immediately` it skips the orderly way and its wait. */
  stop(immediately?: boolean): Promise<void>;
}

/**
 * Starts a server that ends with this process and not before: a Ctrl-C in the terminal does not reach it, since the
 * caller stops things in its own order, and a guard ends it when this process dies without doing so.
 *
 * @throws {OnefoldError} `embedded_unavailable` when the executable cannot be started.
 */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const log = openSync(options.logFile, 'w', 0o600);
  // A file and not a pipe: a server whose reader has died would fail at its next log line.
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ['ignore', log, log],
    detached: true,
    ...options.account,
  });
  closeSync(log);
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      ended = true;
      resolve();
    });
  });
  if (child.pid === undefined) {
    const [error] = (await once(child, 'error')) as [Error];
    throw new OnefoldError('embedded_unavailable', `${options.name} cannot be started: ${error.message}`, {
      cause: error,
    });
  }
  child.on('error', () => {});
  const pid = child.pid;
  const guard = guardProcess(pid, options.stopSteps[0].signal);
  void exited.then(() => guard.release());
  await recordProcess(options.recordFile, pid);

  return {
    pid,
    exited,
    hasExited: () => ended,
    async logTail() {
      const text = await readFile(options.logFile, 'utf8').catch(() => '');
      return text.slice(-quotedLogBytes).trim();
    },
    async stop(immediately = false) {
      for (const step of options.stopSteps.slice(immediately ? 1 : 0)) {
        if (ended) return;
        child.kill(step.signal);
        await endWithin(exited, step.patienceMs);
      }
    },
  };
}

async function endWithin(exited: Promise<void>, patienceMs: number): Promise<void> {
  const waited = new AbortController();
  await Promise.race([exited, pause(patienceMs, undefined, { signal: waited.signal }).catch(() => {})]);
  waited.abort();
}
