import { execFile } from 'node:child_process';
import { inject } from 'vitest';

/** What the operator's command printed, and whether it liked it. */
export interface CliAnswer {
  readonly ok: boolean;
  readonly text: string;
}

/** Runs `temporal …` against a server as an operator would. */
export function temporalCli(args: readonly string[], address = inject('temporalAddress')): Promise<CliAnswer> {
  return new Promise((resolve) => {
    execFile(
      inject('temporalExecutable'),
      [...args, '--address', address, '--namespace', 'default'],
      { timeout: 30_000 },
      (error, stdout, stderr) => resolve({ ok: error === null, text: stdout + stderr }),
    );
  });
}
