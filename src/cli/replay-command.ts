import { userInfo } from 'node:os';
import { Command } from 'commander';
import { operationsContext, withLog } from '../operations/context.js';
import type { ReplayOptions, ReplayOutcome } from '../operations/replay-event.js';
import { readEnvironment } from '../runtime/environment.js';
import { configOption } from './config-option.js';
import { confirmed } from './confirmed.js';
import { loadConfig } from './load-config.js';

interface ReplayFlags {
  readonly config?: string;
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
        'Shows the business state first and asks.',
    )
    .argument('<event>', 'source/event-id, or the workflow ID')
    .requiredOption('--reason <text>', 'why; recorded')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--tenant <name>', 'tenant of the event')
    .option('--act <id>', 'identity of this wish: repeating a command with the same one is harmless')
    .option('--rekey', 'give effects that are not done the business keys that the code computes now')
    .option('--dry-run', 'show what would be done and change nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .action(async (event: string, flags: ReplayFlags) => {
      const { createLogger } = await import('../runtime/logger.js');
      const { replayEvent } = await import('../operations/replay-event.js');
      const { config, logLevel } = readEnvironment();
      const onefold = await loadConfig(flags.config ?? config);
      // Standard output is the answer's; the line that says who replayed belongs to the log all the same.
      const log = createLogger({ process: 'replay', toStderr: true, ...(logLevel ? { level: logLevel } : {}) });
      const context = withLog(onefold[operationsContext], log);
      const options: ReplayOptions = {
        by: flags.by ?? userInfo().username,
        reason: flags.reason,
        ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }),
        ...(flags.act === undefined ? {} : { id: flags.act }),
        ...(flags.rekey ? { rekey: true } : {}),
      };
      const look = (): Promise<ReplayOutcome> => replayEvent(context, event, { ...options, dryRun: true });
      try {
        if (flags.dryRun) {
          const seen = await look();
          process.stdout.write(flags.json ? `${JSON.stringify(seen)}\n` : describeReplay(seen));
          return;
        }
        if (!flags.yes) {
          process.stderr.write(describeReplay(await look()));
          if (!(await confirmed('Replay it?', 'replay_refused', 'add --yes, or --dry-run to look only'))) {
            process.stderr.write('nothing was changed\n');
            process.exitCode = 1;
            return;
          }
        }
        const outcome = await replayEvent(context, event, options);
        process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : `${sentence(outcome)}\n`);
        if (outcome.outcome === 'lost_race') process.exitCode = 1;
      } finally {
        await onefold.close();
      }
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
