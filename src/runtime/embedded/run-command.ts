import { execFile } from 'node:child_process';

/** What a command that ended in failure left. */
export interface CommandFailure {
  readonly ok: false;
  /** Its last words, or why it could not be started. */
  readonly reason: string;
}

/**
 * Runs a command to its end and gives its output; a failure is a value, since the caller has other ways to try.
 *
 * @param options.timeoutMs After which it is killed.
 * @param options.account The user to run as; only root may say so.
 */
export function runCommand(
  command: string,
  args: readonly string[],
  options: {
    readonly timeoutMs: number;
    readonly cwd?: string;
    readonly env?: NodeJS.ProcessEnv;
    readonly account?: { readonly uid: number; readonly gid: number };
  },
): Promise<{ readonly ok: true; readonly output: string } | CommandFailure> {
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      {
        timeout: options.timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: 16 * 1024 * 1024,
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        ...(options.env === undefined ? {} : { env: options.env }),
        ...options.account,
      },
      (error, stdout, stderr) => {
        if (error === null) resolve({ ok: true, output: stdout });
        else if (error.killed) resolve({ ok: false, reason: `no end within ${options.timeoutMs / 1000} s` });
        else resolve({ ok: false, reason: stderr.trim().slice(-1_000) || error.message });
      },
    );
  });
}
