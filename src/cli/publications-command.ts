import { Command } from 'commander';
import type { RecordedPublication } from '../ledger/publication-deliveries/list-publications.js';
import type { PublicationFilter } from '../operations/deliveries/list-publications.js';
import type { ShownPublication } from '../operations/deliveries/show-publication.js';
import { withActingContext } from './acting-context.js';
import { attemptsInWords } from './attempts-in-words.js';
import { configOption } from './config-option.js';
import { plainLine } from './endpoints/plain-line.js';
import { moment } from './moment-option.js';
import { type PageFlags, printPage, withPageOptions } from './page-options.js';

type ListFlags = PageFlags & Omit<PublicationFilter, 'cursor' | 'limit'>;

interface ShowFlags {
  readonly config?: string;
  readonly json?: boolean;
  readonly tenant?: string;
  readonly body?: boolean;
}

/** `onefold publications` */
export function publicationsCommand(): Command {
  const command = new Command('publications').description(
    'Look at what was published: a list, or one with its deliveries.',
  );
  // What the executable says of exit codes and help is known only when this one has become part of it.
  command.hook('preSubcommand', (_publications, subcommand) => void subcommand.copyInheritedSettings(command));
  return command.addCommand(listCommand()).addCommand(showCommand());
}

function listCommand(): Command {
  return withPageOptions(new Command('list'))
    .description('List publications, the latest first, with how many of their deliveries are in each state.')
    .option('--tenant <name>', 'tenant of the publications')
    .option('--type <type>', 'of exactly this type')
    .option('--since <time>', "published at or after: 2026-02-03T04:05:06Z, or how long ago, such as '2 hours'", moment)
    .option('--until <time>', 'published before', moment)
    .action(async ({ config, json, ...filter }: ListFlags) => {
      await withActingContext('publications', config, async (context) => {
        const { listPublications } = await import('../operations/deliveries/list-publications.js');
        printPage(await listPublications(context, filter), json, line, 'no such publications');
      });
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('Show a publication: what caused it, and where each of its deliveries stands.')
    .argument('<publication>', 'its identity')
    .option('--tenant <name>', 'tenant of the publication')
    .option('--body', 'print its message too')
    .option('--json', 'print it as JSON, with --body its message too')
    .option(...configOption)
    .action(async (publication: string, { config, json, tenant, body: withBody }: ShowFlags) => {
      await withActingContext('publications', config, async (context) => {
        const { showPublication } = await import('../operations/deliveries/show-publication.js');
        const found = await showPublication(context, { publication, ...(tenant === undefined ? {} : { tenant }) });
        const { body, ...shown } = found;
        const message = withBody ? { body } : {};
        process.stdout.write(
          json ? `${JSON.stringify({ ...shown, ...message })}\n` : describe({ ...shown, ...message }),
        );
      });
    });
}

function line({ publishedAt, publication, type, deliveries }: RecordedPublication): string {
  return `${publishedAt.toISOString()} ${plainLine(`${publication} ${type} (${statesInWords(deliveries)})`)}\n`;
}

function statesInWords(states: RecordedPublication['deliveries']): string {
  const counted = Object.entries(states).filter(([, count]) => count > 0);
  return counted.map(([state, count]) => `${count} ${state}`).join(', ') || 'no endpoint subscribed';
}

function describe(shown: Omit<ShownPublication, 'body'> & { readonly body?: string }): string {
  const { publication, type, eventId, publishedAt, cause, states, deliveries, acts, body } = shown;
  const lines = [
    `${publication} ${type}, webhook-id ${eventId}`,
    `  published ${publishedAt.toISOString()}${cause === undefined ? '' : ` by ${JSON.stringify(cause)}`}`,
    `  ${statesInWords(states)}`,
    ...deliveries.map(({ endpoint, state, attempts, lastCode }) => {
      return `  → ${endpoint}: ${state}, ${attemptsInWords(attempts)}${lastCode === undefined ? '' : `, last ${lastCode}`}`;
    }),
    ...acts.map(({ at, kind, by, reason, outcome, id }) => {
      return `  ${at.toISOString()} ${kind} by ${by}: ${reason} (${outcome}, act ${id})`;
    }),
  ];
  const text = `${lines.map((one) => (/^ */.exec(one)?.[0] ?? '') + plainLine(one)).join('\n')}\n`;
  return body === undefined ? text : `${text}${body}\n`;
}
