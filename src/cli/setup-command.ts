import { Command, InvalidArgumentError } from 'commander';
import type { SetupOutcome } from '../operations/setup/setup-namespace.js';
import { durationMs } from '../runtime/duration.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { withUnit } from './with-unit.js';

interface SetupFlags {
  readonly config?: string;
  readonly retention?: number;
  readonly createNamespace?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `onefold setup` */
export function setupCommand(): Command {
  return new Command('setup')
    .description(
      'Make the Temporal namespace fit: register the search attributes that it lacks, and set how long it remembers closed ' +
        'events, or say whether that is long enough. Repeating it is harmless. The ledger is made by `onefold migrate`.',
    )
    .option('--retention <duration>', 'remember closed events for so long, such as 7d; at least 1h', retention)
    .option('--create-namespace', 'make the namespace (TEMPORAL_NAMESPACE) where it is not there')
    .option('--dry-run', 'only say what is missing')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .addHelpText(
      'after',
      '\nExit codes: 0 the namespace is fit; 1 something is missing, too short or refused; 2 the command line is wrong.\n' +
        'Where the server refuses, as hosted ones do, the settings are made in its own console.',
    )
    .action(async (flags: SetupFlags) => {
      await withActingContext('setup', flags.config, async (context) => {
        const { setupNamespace } = await import('../operations/setup/setup-namespace.js');
        const { durationInWords } = await import('../operations/check/duration-in-words.js');
        const outcome = await setupNamespace(context, {
          ...(flags.retention === undefined ? {} : { retentionMs: flags.retention }),
          ...(flags.createNamespace ? { createNamespace: true } : {}),
          ...(flags.dryRun ? { dryRun: true } : {}),
        });
        const text = describe(outcome, flags.dryRun === true, durationInWords);
        process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : text);
        if (!outcome.ok) process.exitCode = 1;
      });
    });
}

function retention(text: string): number {
  try {
    return durationMs(withUnit(text), 'retention');
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function describe(
  {
    namespace,
    created,
    searchAttributes,
    retention: { nowMs, beforeMs, state, recommendedMs, tooShortFor },
  }: SetupOutcome,
  dryRun: boolean,
  inWords: (ms: number) => string,
): string {
  const told = (ms: number | null): string => (ms === null ? 'without end, or not told' : inWords(ms));
  const attributes = searchAttributes.map(({ name, type, state: is }) => `  ${is.padEnd(11)} ${name} (${type})\n`);
  const retained = {
    set: `set to ${told(nowMs)}, from ${told(beforeMs)}`,
    kept: told(nowMs),
    refused: `${told(nowMs)}; the server does not let this caller change it`,
  }[state];
  const short = tooShortFor.map((what) => `  too short for ${what}\n`);
  const advice =
    short.length > 0 ? `  onefold setup --retention ${Math.ceil(recommendedMs / 86_400_000)}d would do\n` : '';
  return (
    `namespace ${namespace}${created ? (dryRun ? ' would be made' : ' was made') : ''}\n` +
    `search attributes\n${attributes.join('')}` +
    `retention ${retained}\n${short.join('')}${advice}`
  );
}
