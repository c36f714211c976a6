import { userInfo } from 'node:os';
import { Command } from 'commander';
import type { RecoverOptions, RecoverOutcome } from '../operations/deliveries/recover-endpoint.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { lookFirst } from './look-first.js';
import { moment } from './moment-option.js';

interface RecoverFlags {
  readonly config?: string;
  readonly since: Date;
  readonly until?: Date;
  readonly tenant?: string;
  readonly reason?: string;
  readonly by?: string;
  readonly act?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `onefold endpoints recover` */
export function recoverCommand(): Command {
  const command = new Command('recover');
  return command
    .description(
      'Send all deliveries of an endpoint again that ended as dead letters within a time, under the same webhook-ids. ' +
        'Says how many first and asks. Broken off, it goes on with the same --act.',
    )
    .argument('<id>', 'the endpoint')
    .requiredOption(
      '--since <time>',
      "ended at or after: 2026-02-03T04:05:06Z, or how long ago, such as '2 hours'",
      moment,
    )
    .option('--until <time>', 'ended at or before (default: now)', moment)
    .option('--reason <text>', 'why; recorded (needed but for --dry-run)')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--tenant <name>', 'tenant of the endpoint')
    .option('--act <id>', 'identity of this wish: repeating a command with the same one is harmless')
    .option('--dry-run', 'only count them')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .action(async (endpoint: string, flags: RecoverFlags) => {
      if (flags.reason === undefined && !flags.dryRun) {
        command.error("error: required option '--reason <text>' not specified", { exitCode: 2 });
      }
      await withActingContext('recover', flags.config, async (context) => {
        const { recoverEndpoint } = await import('../operations/deliveries/recover-endpoint.js');
        const name = { endpoint, ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }) };
        const options: RecoverOptions = {
          since: flags.since,
          ...(flags.until ? { until: flags.until } : {}),
          // A dry run records none.
          reason: flags.reason ?? 'dry run',
          by: flags.by ?? userInfo().username,
          ...(flags.act === undefined ? {} : { id: flags.act }),
        };
        const goOn = await lookFirst(flags, {
          look: () => recoverEndpoint(context, name, { ...options, dryRun: true }),
          describe,
          question: 'Send them again?',
          code: 'confirmation_missing',
        });
        if (!goOn) return;
        const onProgress: RecoverOptions['onProgress'] = ({ found, started, lostRace, refused, waitingFor }) => {
          if (!process.stderr.isTTY) return;
          const waiting = waitingFor === undefined ? '' : `, waiting: it has ${waitingFor} before it`;
          // Erased to the end of the line, which may have been longer.
          process.stderr.write(`\r${started + lostRace + refused} of ${found}${waiting} \u001b[K`);
        };
        const outcome = await recoverEndpoint(context, name, { ...options, onProgress });
        if (process.stderr.isTTY) process.stderr.write('\n');
        process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : answer(outcome));
        if (outcome.outcome === 'interrupted') process.exitCode = 1;
      });
    });
}

function describe({ endpoint, endpointState, found, since, until }: RecoverOutcome): string {
  const held = endpointState === 'paused' ? '; the endpoint is paused, which holds them' : '';
  return `${endpoint}: ${found} dead-lettered from ${since.toISOString()} to ${until.toISOString()}${held}\n`;
}

function answer({ endpoint, started, lostRace, refused, refusals, outcome, because, id }: RecoverOutcome): string {
  const rest = [
    ...(lostRace === 0 ? [] : [`${lostRace} were started by others meanwhile`]),
    ...(refused === 0 ? [] : [`${refused} cannot be sent now`]),
  ];
  const lines = refusals.map((one) => `  ${one.publication}: ${one.because}\n`);
  const end =
    outcome === 'interrupted'
      ? `It was interrupted (${because?.code}: ${because?.message}); the same command with --act ${id} goes on from here.\n`
      : '';
  return `${endpoint}: ${[`${started} sent again`, ...rest].join(', ')} (act ${id})\n${lines.join('')}${end}`;
}
