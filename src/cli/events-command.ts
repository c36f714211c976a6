import { Command, Option } from 'commander';
import { type EventFilter, type EventInList, listedStates } from '../operations/events/list-events.js';
import type { ShownEvent } from '../operations/events/show-event.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { letterLine } from './dead-letters-command.js';
import { plainLine } from './endpoints/plain-line.js';
import { moment } from './moment-option.js';
import { type PageFlags, printPage, withPageOptions } from './page-options.js';

type ListFlags = PageFlags & Omit<EventFilter, 'cursor' | 'limit'>;

interface ShowFlags {
  readonly config?: string;
  readonly json?: boolean;
  readonly tenant?: string;
}

/** `onefold events` */
export function eventsCommand(): Command {
  const command = new Command('events').description('Look at what was received: a list, or where one event stands.');
  // What the executable says of exit codes and help is known only when this one has become part of it.
  command.hook('preSubcommand', (_events, subcommand) => void subcommand.copyInheritedSettings(command));
  return command.addCommand(listCommand()).addCommand(showCommand());
}

function listCommand(): Command {
  return withPageOptions(new Command('list'))
    .description(
      'List events, those received last first, each with its effects. Of those that wait for a worker to plan them ' +
        '(state received) the last day is looked at, unless --since says otherwise.',
    )
    .option('--tenant <name>', 'tenant of the events')
    .option('--source <name>', 'of this source')
    .option('--type <type>', 'of exactly this type')
    .addOption(new Option('--state <state>', 'in this state; open includes parked').choices([...listedStates]))
    .option('--business-key <key>', 'with an effect under this key')
    .option('--effect <name>', 'that have this effect')
    .option('--code <code>', 'whose open dead letter has this code')
    .option('--since <time>', "received at or after: 2026-02-03T04:05:06Z, or how long ago, such as '2 hours'", moment)
    .option('--until <time>', 'received before', moment)
    .action(async ({ config, json, ...filter }: ListFlags) => {
      await withActingContext('events', config, async (context) => {
        const { listEvents } = await import('../operations/events/list-events.js');
        printPage(await listEvents(context, filter), json, line, 'no such events');
      });
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('Show where an event stands in the ledger and in Temporal. `onefold trace` tells how it came there.')
    .argument('<event>', 'source/event-id, or the workflow ID')
    .option('--tenant <name>', 'tenant of the event')
    .option('--json', 'print it as JSON')
    .option(...configOption)
    .action(async (event: string, { config, json, tenant }: ShowFlags) => {
      await withActingContext('events', config, async (context) => {
        const { showEvent } = await import('../operations/events/show-event.js');
        const shown = await showEvent(context, { event, ...(tenant === undefined ? {} : { tenant }) });
        process.stdout.write(json ? `${JSON.stringify(shown)}\n` : describe(shown));
      });
    });
}

function line({ receivedAt, state, event, type, code, effects }: EventInList): string {
  const ends = effects.map(({ effect, businessKey, outcome }) => `${effect} ${businessKey} ${outcome ?? '–'}`);
  const parts = [
    event,
    ...(type === undefined ? [] : [type]),
    ...(code === undefined ? [] : [code]),
    ...(ends.length === 0 ? [] : [`(${ends.join('; ')})`]),
  ];
  return `${receivedAt.toISOString()} ${state.padEnd(13)} ${plainLine(parts.join(' '))}\n`;
}

function describe(shown: ShownEvent): string {
  const {
    event,
    tenant,
    type,
    ledger,
    temporal,
    runId,
    startedAt,
    abandoned,
    effects,
    status,
    deadLetter,
    deliveries,
  } = shown;
  const run = runId === undefined ? '' : `, run ${runId}${startedAt ? ` since ${startedAt.toISOString()}` : ''}`;
  const lines = [
    `${event}${tenant === '' ? '' : ` (tenant ${tenant})`}${type === undefined ? '' : ` ${type}`}`,
    `  ${ledger} in the ledger, ${temporal} in Temporal${run}`,
    ...(abandoned ? [`  given up by ${abandoned.by}: ${abandoned.reason}`] : []),
    ...effects.map(({ effect, businessKey, state, because }) => `  ${effect} ${businessKey}: ${state}, ${because}`),
    ...statusLines(status),
    ...(deadLetter ? [`  dead letter ${letterLine(deadLetter)}`] : []),
    ...deliveries.map(({ path, count, firstAt, lastAt }) => {
      const when = count === 1 ? firstAt.toISOString() : `${firstAt.toISOString()} to ${lastAt.toISOString()}`;
      return `  delivered ${count === 1 ? 'once' : `${count} times`} as ${path ?? 'refused'}: ${when}`;
    }),
  ];
  return `${lines.map(indented).join('\n')}\n`;
}

function statusLines(status: ShownEvent['status']): string[] {
  if (!status) return [];
  if (status.effects.length === 0) return [`  its workflow is ${status.phase}`];
  return status.effects.map(({ effect, phase, attempts, maximumAttempts, nextTryAt, lastFailure }) => {
    const next = nextTryAt === undefined ? '' : `, next try at ${nextTryAt}`;
    const last = lastFailure ? `, last ${lastFailure.code}: ${lastFailure.message}` : '';
    return `  ${effect} is ${phase}, ${attempts} of ${maximumAttempts} attempts made${next}${last}`;
  });
}

/** What others wrote stands in most lines; their indentation is ours. */
function indented(text: string): string {
  return (/^ */.exec(text)?.[0] ?? '') + plainLine(text);
}
