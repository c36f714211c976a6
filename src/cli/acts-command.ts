import { Command, Option } from 'commander';
import { actKinds } from '../ledger/record-act.js';
import type { ActFilter, ListedAct } from '../operations/acts/list-acts.js';
import { withActingContext } from './acting-context.js';
import { plainLine } from './endpoints/plain-line.js';
import { moment } from './moment-option.js';
import { type PageFlags, printPage, withPageOptions } from './page-options.js';

type ListFlags = PageFlags & Omit<ActFilter, 'cursor' | 'limit'>;

/** `onefold acts` */
export function actsCommand(): Command {
  const command = new Command('acts').description('Look at what people did: who, when, why, and what came of it.');
  // What the executable says of exit codes and help is known only when this one has become part of it.
  command.hook('preSubcommand', (_acts, subcommand) => void subcommand.copyInheritedSettings(command));
  return command.addCommand(listCommand());
}

function listCommand(): Command {
  return withPageOptions(new Command('list'))
    .description('List acts, the latest first. With --json each has what the person was shown before.')
    .option('--tenant <name>', 'tenant of what they are about')
    .option(
      '--about <identity>',
      'source/event-id, a workflow ID, endpoint/<tenant>/<id>, effect/<name>, source/<name>, or events for acts on many',
    )
    .addOption(new Option('--kind <kind>', 'of this kind').choices([...actKinds]))
    .option('--by <name>', 'of this person')
    .option('--since <time>', "recorded at or after: 2026-02-03T04:05:06Z, or how long ago, such as '2 hours'", moment)
    .option('--until <time>', 'recorded before', moment)
    .action(async ({ config, json, ...filter }: ListFlags) => {
      await withActingContext('acts', config, async (context) => {
        const { listActs } = await import('../operations/acts/list-acts.js');
        printPage(await listActs(context, filter), json, line, 'no such acts');
      });
    });
}

function line({ at, kind, about, by, reason, outcome, id }: ListedAct): string {
  return `${at.toISOString()} ${plainLine(`${kind} ${about} by ${by}: ${reason} (${outcome}, act ${id})`)}\n`;
}
