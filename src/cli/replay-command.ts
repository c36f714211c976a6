import { userInfo } from 'node:os';
import { Command } from 'commander';
import type { ReplayOptions, ReplayOutcome } from '../operations/replay-event.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { lookFirst } from './look-first.js';
import { replayDeliveries } from './replay-delivery.js';

interface ReplayFlags {
  readonly config?: string;
  readonly publication?: string;
  readonly endpoint?: string;
  readonly all?: boolean;
  readonly tenant?: string;
  readonly reason: string;
  readonly by?: string;
  readonly act?: string;
  readonly rekey?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `onefold replay` */
export function replayCommand(): Command {
  return new Command('replay')
    .description(
      'Run a dead-lettered, abandoned, terminated or cancelled event again. What is done stays done; the rest is performed. ' +
        'Or, with --publication, send deliveries that have ended again, under the same webhook-id. ' +
        'Shows the business state first and asks.',
    )
    .argument('[event]', 'source/event-id, or the workflow ID')
    .option(
      '--publication <identity>',
      'instead of an event: the publication whose dead-lettered deliveries are sent again',
    )
    .option('--endpoint <id>', 'of the publication, the delivery to this endpoint alone, also where it was delivered')
    .option('--all', 'of the publication, every delivery that has ended, also those that were delivered')
    .requiredOption('--reason <text>', 'why; recorded')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--tenant <name>', 'tenant of the event or publication')
    .option('--act <id>', 'identity of this wish: repeating a command with the same one is harmless')
    .option('--rekey', 'give effects that are not done the business keys that the code computes now')
    .option('--dry-run', 'show what would be done and change nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .action(async (event: string | undefined, flags: ReplayFlags, command: Command) => {
      const { publication, endpoint, all, rekey } = flags;
      if ((event === undefined) === (publication === undefined)) {
        command.error('error: name an event, or a publication by --publication');
      }
      if (publication !== undefined) {
        if (rekey) command.error('error: --rekey is for events');
        if (all && endpoint !== undefined) command.error('error: --all is for all endpoints');
        return replayDeliveries({ ...flags, publication });
      }
      if (endpoint !== undefined || all) command.error('error: --endpoint and --all are for publications');
      if (event !== undefined) await replayOne(event, flags);
    });
}

async function replayOne(event: string, flags: ReplayFlags): Promise<void> {
  await withActingContext('replay', flags.config, async (context) => {
    const { replayEvent } = await import('../operations/replay-event.js');
    const options: ReplayOptions = {
      by: flags.by ?? userInfo().username,
      reason: flags.reason,
      ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }),
      ...(flags.act === undefined ? {} : { id: flags.act }),
      ...(flags.rekey ? { rekey: true } : {}),
    };
    const goOn = await lookFirst(flags, {
      look: () => replayEvent(context, event, { ...options, dryRun: true }),
      describe: describeReplay,
      question: 'Replay it?',
      code: 'replay_refused',
    });
    if (!goOn) return;
    const outcome = await replayEvent(context, event, options);
    process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : `${sentence(outcome)}\n`);
    if (outcome.outcome === 'lost_race') process.exitCode = 1;
  });
}

function describeReplay(outcome: ReplayOutcome): string {
  const { state, steps } = outcome;
  const lines = steps.map(({ effect, businessKey, rekeyedFrom, action, because }) => {
    const rekeyed = rekeyedFrom === undefined ? '' : ` (was ${rekeyedFrom})`;
    return `  ${action.padEnd(7)} ${effect} ${businessKey ?? '(not planned yet)'}${rekeyed}: ${because}`;
  });
  return `${outcome.event}: ${state.ledger} in the ledger, ${state.temporal} in Temporal\n${lines.join('\n')}\n`;
}

function sentence({ event, outcome, runId, id }: ReplayOutcome): string {
  if (outcome === 'started') return `${event}: replayed as run ${runId} (act ${id})`;
  if (outcome === 'nothing_to_do') return `${event}: nothing to do, every effect is done (act ${id})`;
  return `${event}: another run was started meanwhile, and carries it (act ${id})`;
}
