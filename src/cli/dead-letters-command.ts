import { Command, Option } from 'commander';
import type { CountedDeadLetters } from '../ledger/dead-letters/count-dead-letters.js';
import type { DeadLetter, DeadLetterFilter } from '../operations/dead-letters/list-dead-letters.js';
import type { ShownDeadLetter } from '../operations/dead-letters/show-dead-letter.js';
import { inUnits } from '../operations/trace/in-units.js';
import { type ActFlags, actOf, tenantOf, withActOptions } from './act-options.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { plainLine } from './endpoints/plain-line.js';
import { moment } from './moment-option.js';
import { type PageFlags, printPage, withPageOptions } from './page-options.js';

type ListFlags = PageFlags & Omit<DeadLetterFilter, 'cursor' | 'limit' | 'key'>;

interface ShowFlags {
  readonly config?: string;
  readonly json?: boolean;
  readonly tenant?: string;
}

/** `onefold dead-letters` */
export function deadLettersCommand(): Command {
  const command = new Command('dead-letters').description(
    'Look at what ended without its effect, events and deliveries alike: a list, a count by cause, or one with every reason.',
  );
  // What the executable says of exit codes and help is known only when this one has become part of it.
  command.hook('preSubcommand', (_letters, subcommand) => void subcommand.copyInheritedSettings(command));
  return command
    .addCommand(listCommand())
    .addCommand(countCommand())
    .addCommand(showCommand())
    .addCommand(noteCommand());
}

function listCommand(): Command {
  return withPageOptions(new Command('list'))
    .description('List dead letters, the latest first.')
    .option('--tenant <name>', 'tenant of the dead letters')
    .addOption(new Option('--kind <kind>', 'of events or of deliveries alone').choices(['event', 'delivery']))
    .option('--source <name>', 'of events of this source')
    .option('--endpoint <id>', 'of deliveries to this endpoint')
    .option('--publication <identity>', 'of deliveries of this publication')
    .option('--type <type>', 'of exactly this type')
    .option('--code <code>', 'that ended with this code')
    .option('--business-key <key>', 'of events with an effect under this key')
    .option('--owner <name>', 'that this person looks after')
    .option('--parked', 'that wait for a person while their event runs')
    .option('--no-parked', 'that do not')
    .option('--since <time>', "opened at or after: 2026-02-03T04:05:06Z, or how long ago, such as '2 hours'", moment)
    .option('--until <time>', 'opened before', moment)
    .option('--all', 'closed ones too')
    .action(async ({ config, json, ...filter }: ListFlags) => {
      await withActingContext('dead-letters', config, async (context) => {
        const { listDeadLetters } = await import('../operations/dead-letters/list-dead-letters.js');
        printPage(
          await listDeadLetters(context, filter),
          json,
          (letter) => `${letterLine(letter)}\n`,
          'no dead letters',
        );
      });
    });
}

function countCommand(): Command {
  return new Command('count')
    .description('Count open dead letters by where and why they ended, with the age of the oldest.')
    .option('--tenant <name>', 'tenant of the dead letters')
    .addOption(new Option('--kind <kind>', 'of events or of deliveries alone').choices(['event', 'delivery']))
    .option('--source <name>', 'of this source, or this endpoint')
    .option('--json', 'print the counts as JSON')
    .option(...configOption)
    .action(async ({ config, json, ...filter }: ListFlags) => {
      await withActingContext('dead-letters', config, async (context) => {
        const { countDeadLetters } = await import('../operations/dead-letters/count-dead-letters.js');
        const counts = await countDeadLetters(context, filter);
        if (json) process.stdout.write(`${JSON.stringify(counts)}\n`);
        else if (counts.length === 0) process.stderr.write('no dead letters\n');
        else process.stdout.write(counts.map(countLine).join(''));
      });
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('Show a dead letter: the reason of every attempt that was kept, who looks after it, what people did.')
    .argument('<letter>', 'its id, an event as source/event-id, or a workflow ID')
    .option('--tenant <name>', 'tenant of the dead letter')
    .option('--json', 'print it as JSON')
    .option(...configOption)
    .action(async (letter: string, flags: ShowFlags) => {
      await withActingContext('dead-letters', flags.config, async (context) => {
        const { showDeadLetter } = await import('../operations/dead-letters/show-dead-letter.js');
        const shown = await showDeadLetter(context, letter, tenantOf(flags));
        process.stdout.write(flags.json ? `${JSON.stringify(shown)}\n` : describe(shown));
      });
    });
}

function noteCommand(): Command {
  return withActOptions(new Command('note'), 'tenant of the dead letter', false)
    .description('Write down who looks after a dead letter, and what they found. It changes nothing about the event.')
    .argument('<letter>', 'its id, an event as source/event-id, or a workflow ID')
    .option('--owner <name>', "who looks after it; '' for nobody")
    .option('--note <text>', "what was found; '' takes it away")
    .action(async (letter: string, flags: ActFlags & { readonly owner?: string; readonly note?: string }) => {
      const { owner, note, dryRun } = flags;
      await withActingContext('dead-letters', flags.config, async (context) => {
        const { showDeadLetter } = await import('../operations/dead-letters/show-dead-letter.js');
        const { noteDeadLetter } = await import('../operations/dead-letters/note-dead-letter.js');
        const shown = dryRun
          ? await showDeadLetter(context, letter, tenantOf(flags))
          : await noteDeadLetter(context, letter, {
              ...actOf(flags),
              ...tenantOf(flags),
              ...(owner === undefined ? {} : { owner }),
              ...(note === undefined ? {} : { note }),
            });
        process.stdout.write(flags.json ? `${JSON.stringify(shown)}\n` : describe(shown));
      });
    });
}

/** One dead letter in one line. */
export function letterLine(letter: DeadLetter): string {
  const { id, openedAt, closedAt, closedBy, kind, name, endpoint, type, code, message, occurrences, parked, owner } =
    letter;
  const state = closedAt ? `closed by ${closedBy ?? 'somebody'}` : parked ? 'parked' : 'open';
  const often = occurrences === 1 ? '' : `, ${occurrences} times`;
  const whose = owner === undefined ? '' : `, ${owner} looks after it`;
  const to = endpoint === undefined ? '' : ` → ${endpoint}`;
  return plainLine(
    `${id} ${openedAt.toISOString()} ${state} ${kind} ${name}${to} ${type} ${code}: ${message}${often}${whose}`,
  );
}

function countLine({ kind, source, code, count, parked, oldestAt, latestAt }: CountedDeadLetters): string {
  const waiting = parked === 0 ? '' : `, ${parked} parked`;
  const age = inUnits(Math.max(0, Date.now() - oldestAt.getTime()));
  const what =
    kind === 'event' ? (count === 1 ? 'event of' : 'events of') : count === 1 ? 'delivery to' : 'deliveries to';
  const where = `${what} ${source}`;
  return `${String(count).padStart(6)} ${plainLine(`${where}: ${code}${waiting}, the oldest ${age} old, the latest ${latestAt.toISOString()}`)}\n`;
}

function describe(letter: ShownDeadLetter): string {
  const { key, reasons, occurrences, lastAt, runs, note, acts } = letter;
  const lines = [
    letterLine(letter),
    `  ${key}, ${occurrences === 1 ? 'once' : `${occurrences} times`}, last at ${lastAt.toISOString()}`,
    ...runs.map((run) => `  run ${run}`),
    ...reasonLines(reasons),
    ...(note === undefined ? [] : [`  note: ${note}`]),
    ...acts.map(({ at, kind, by, reason, outcome, id }) => {
      return `  ${at.toISOString()} ${kind} by ${by}: ${reason} (${outcome}, act ${id})`;
    }),
  ];
  return `${lines.map((text) => (/^ */.exec(text)?.[0] ?? '') + plainLine(text)).join('\n')}\n`;
}

interface Reason {
  readonly attempt?: number;
  readonly at?: string;
  readonly code?: string;
  readonly message?: string;
}

/** Of an event by effect, of a delivery in a list; what was written by other versions may be anything. */
function reasonLines(reasons: unknown): string[] {
  if (!Array.isArray(reasons)) return [];
  return reasons.flatMap(
    (one: Reason & { effect?: string; step?: string; businessKey?: string; reasons?: Reason[] }) => {
      if (!Array.isArray(one?.reasons)) return [`  ${reasonText(one)}`];
      const name = one.effect === undefined ? (one.step ?? 'plan') : `${one.effect} ${one.businessKey ?? ''}`;
      return [`  ${name}`, ...one.reasons.map((reason) => `    ${reasonText(reason)}`)];
    },
  );
}

function reasonText({ attempt, at, code, message }: Reason): string {
  return `${at ?? ''} ${attempt === undefined ? '' : `attempt ${attempt}: `}${code ?? ''}: ${message ?? ''}`.trim();
}
