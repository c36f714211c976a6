import { Command, InvalidArgumentError } from 'commander';
import { OnefoldError } from '../errors.js';
import { notLoaded } from '../operations/check/not-loaded.js';
import { operationsContext } from '../operations/context.js';
import { durationMs } from '../runtime/duration.js';
import { readEnvironment } from '../runtime/environment.js';
import { configOption } from './config-option.js';
import { loadConfig } from './load-config.js';
import { withUnit } from './with-unit.js';

interface CheckFlags {
  readonly config?: string;
  readonly offline?: boolean;
  readonly json?: boolean;
  readonly grace?: number;
}

/** `onefold check` */
export function checkCommand(): Command {
  return new Command('check')
    .description(
      'Say of each source, effect and publication what makes it happen once, and what finishes the work after a ' +
        'crash. Judges the numbers against each other, the providers, the namespace and the ledger. Changes nothing.',
    )
    .option('--offline', 'leave out what needs Temporal or PostgreSQL')
    .option('--json', 'print one JSON object')
    .option('--grace <duration>', 'the --grace that the workers run with (default 10 seconds)', grace)
    .option(...configOption)
    .addHelpText(
      'after',
      '\nExit codes: 0 no problem, warnings or none; 1 a problem, or the configuration cannot be loaded; ' +
        '2 the command line is wrong.',
    )
    .action(async (flags: CheckFlags) => {
      const { checkConfiguration } = await import('../operations/check/check-configuration.js');
      const { printCheck } = await import('./print-check.js');
      const { defaultGraceMs } = await import('../worker/create-worker.js');
      const onefold = await loadConfig(flags.config ?? readEnvironment().config).catch((error: unknown) => {
        // Most mistakes are refused where the configuration is loaded; who reads JSON gets one object all the same.
        if (flags.json && error instanceof OnefoldError) process.stdout.write(`${JSON.stringify(notLoaded(error))}\n`);
        throw error;
      });
      try {
        const report = await checkConfiguration(onefold[operationsContext], {
          offline: flags.offline === true,
          graceMs: flags.grace ?? defaultGraceMs,
          production: process.env.NODE_ENV === 'production',
        });
        process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : printCheck(report));
        if (!report.ok) process.exitCode = 1;
      } finally {
        await onefold.close();
      }
    });
}

function grace(text: string): number {
  try {
    return durationMs(withUnit(text), 'grace', '1 hour');
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}
