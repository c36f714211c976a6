import { userInfo } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type EventState, eventStates } from '../ledger/events/event-selection.js';
import type { ReplayOptions, ReplayOutcome } from '../operations/replay-event.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { lookFirst } from './look-first.js';
import { moment } from './moment-option.js';
import { replayDeliveries } from './replay-delivery.js';

interface ReplayFlags {
  readonly config?: string;
  readonly publication?: string;
  readonly endpoint?: string;
  readonly all?: boolean;
  readonly tenant?: string;
  readonly source?: string;
  readonly type?: string;
  readonly state?: EventState;
  readonly businessKey?: string;
  readonly code?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly effect?: string;
  readonly rate?: number;
  readonly cancel?: boolean;
  readonly reason?: string;
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
        'Without an event, many: those that the filters take in, dead-lettered ones unless --state says otherwise; broken off, ' +
        'it goes on with --act alone. ' +
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
    .option('--source <name>', 'of many: from this source')
    .option('--type <type>', 'of many: of exactly this type')
    .addOption(
      new Option('--state <state>', 'of many: in this state (default: dead_lettered)').choices([...eventStates]),
    )
    .option('--business-key <key>', 'of many: with exactly this business key')
    .option('--code <code>', 'of many: dead-lettered for this reason')
    .option(
      '--since <time>',
      "of many: received at or after: 2026-02-03T04:05:06Z, or how long ago, such as '2 hours'",
      moment,
    )
    .option('--until <time>', 'of many: received before', moment)
    .option(
      '--effect <name>',
      'run only this effect, which was added later; of one event that is done, or of many that are, or were recorded without effects',
    )
    .option('--rate <n>', 'of many: events per second, 0.1 to 1000 (default 20)', eventsPerSecond)
    .option('--cancel', 'with --act: do not replay the rest of that set')
    .option('--reason <text>', 'why; recorded (needed but for --dry-run of many, and to go on with --act)')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--tenant <name>', 'tenant of the event or publication')
    .option('--act <id>', 'identity of this wish: repeating a command with the same one is harmless')
    .option('--rekey', 'give effects that are not done the business keys that the code computes now')
    .option('--dry-run', 'show what would be done and change nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .action(async (event: string | undefined, flags: ReplayFlags, command: Command) => {
      const { publication, endpoint, all, rekey, reason } = flags;
      const ofMany = givenOf(flags, [...manyFilters, 'rate', 'cancel']);
      if (event !== undefined && publication !== undefined) {
        command.error('error: name an event, or a publication by --publication');
      }
      if (publication === undefined && (endpoint !== undefined || all)) {
        command.error('error: --endpoint and --all are for publications');
      }
      if ((event !== undefined || publication !== undefined) && ofMany.length > 0) {
        command.error(`error: ${ofMany.join(', ')}: for many events, without naming one`);
      }
      if (event === undefined && publication === undefined) {
        checkMany(flags, command);
        const { replayManyOf } = await import('./replay-many.js');
        return replayManyOf(flags);
      }
      if (reason === undefined) command.error("error: required option '--reason <text>' not specified");
      const wish = { ...flags, reason: reason ?? '' };
      if (publication !== undefined) {
        if (flags.effect !== undefined) command.error('error: --effect is for events');
        if (rekey) command.error('error: --rekey is for events');
        if (all && endpoint !== undefined) command.error('error: --all is for all endpoints');
        return replayDeliveries({ ...wish, publication });
      }
      if (event !== undefined) await replayOne(event, wish);
    });
}

const manyFilters = ['source', 'type', 'state', 'businessKey', 'code', 'since', 'until'] as const;

/** The options that were given, of those named, as they are spelt. */
function givenOf(flags: ReplayFlags, names: readonly (keyof ReplayFlags)[]): readonly string[] {
  const spelt = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return names.filter((name) => flags[name] !== undefined).map(spelt);
}

/** Ends the command where the options do not say what is to be done. */
function checkMany(flags: ReplayFlags, command: Command): void {
  const filters = givenOf(flags, [...manyFilters, 'effect', 'tenant']);
  if (flags.rekey) command.error('error: --rekey is for one event');
  if (flags.cancel && flags.act === undefined) command.error('error: --cancel needs --act: which set');
  if (flags.act === undefined && filters.length === 0) {
    command.error(
      'error: name an event, or a publication by --publication, or which events by --source, --type, --since and others',
    );
  }
  const goesOn = flags.act !== undefined && !flags.cancel;
  if (flags.reason === undefined && !flags.dryRun && !goesOn) {
    command.error("error: required option '--reason <text>' not specified");
  }
}

/** Its limits are those of the operation. */
function eventsPerSecond(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0.1 && value <= 1000) return value;
  throw new InvalidArgumentError('expected 0.1 to 1000 events per second');
}

async function replayOne(event: string, flags: ReplayFlags & { readonly reason: string }): Promise<void> {
  await withActingContext('replay', flags.config, async (context) => {
    const { replayEvent } = await import('../operations/replay-event.js');
    const options: ReplayOptions = {
      by: flags.by ?? userInfo().username,
      reason: flags.reason,
      ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }),
      ...(flags.act === undefined ? {} : { id: flags.act }),
      ...(flags.rekey ? { rekey: true } : {}),
      ...(flags.effect === undefined ? {} : { effect: flags.effect }),
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
