import { spawn } from 'node:child_process';
import { Command } from 'commander';

/**
 * `onefold temporal …`: Temporal's own CLI, wherever it was found or fetched to, for those who have none on their PATH.
 */
export function temporalCommand(): Command {
  return new Command('temporal')
    .description("Run Temporal's own CLI, as found on PATH or fetched: onefold temporal workflow show -w <id>")
    .argument('[arguments...]', 'handed on as they are')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (given: string[]) => {
      const { findTemporal } = await import('../runtime/embedded/find-temporal.js');
      const executable = await findTemporal((line) => void process.stderr.write(`${line}\n`));
      const child = spawn(executable, given, { stdio: 'inherit' });
      const code = await new Promise<number>((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (exitCode) => resolve(exitCode ?? 1));
      });
      process.exit(code);
    });
}
