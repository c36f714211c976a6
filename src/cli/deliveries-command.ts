import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import {
  type DeliveryState,
  deliveryStates,
  type RecordedDelivery,
} from '../ledger/publication-deliveries/delivery-row.js';
import type { AbandonDeliveryOutcome } from '../operations/deliveries/abandon-delivery.js';
import type { DeliveryFilter } from '../operations/deliveries/list-deliveries.js';
import { withActingContext } from './acting-context.js';
import { attemptsInWords } from './attempts-in-words.js';
import { configOption } from './config-option.js';
import { plainLine } from './endpoints/plain-line.js';
import { moment } from './moment-option.js';
import { printPage, withPageOptions } from './page-options.js';

interface ListFlags {
  readonly config?: string;
  readonly json?: boolean;
  readonly tenant?: string;
  readonly endpoint?: string;
  readonly publication?: string;
  readonly type?: string;
  readonly state?: DeliveryState;
  readonly since?: Date;
  readonly until?: Date;
  readonly cursor?: string;
  readonly limit?: number;
}

interface ShowFlags {
  readonly config?: string;
  readonly json?: boolean;
  readonly tenant?: string;
}

interface AbandonFlags extends ShowFlags {
  readonly reason: string;
  readonly by?: string;
  readonly act?: string;
}

/** `onefold deliveries` */
export function deliveriesCommand(): Command {
  const command = new Command('deliveries').description(
    'Look at what is sent to endpoints: a list, or one delivery with every attempt; or give one up.',
  );
  // What the executable says of exit codes and help is known only when this one has become part of it.
  command.hook('preSubcommand', (_deliveries, subcommand) => void subcommand.copyInheritedSettings(command));
  return command.addCommand(listCommand()).addCommand(showCommand()).addCommand(abandonCommand());
}

function listCommand(): Command {
  return withPageOptions(new Command('list'))
    .description('List deliveries, those published last first.')
    .option('--tenant <name>', 'tenant of the deliveries')
    .option('--endpoint <id>', 'to this endpoint')
    .option('--publication <identity>', 'of this publication')
    .option('--type <type>', 'of exactly this type')
    .addOption(new Option('--state <state>', 'in this state').choices([...deliveryStates]))
    .option('--since <time>', "published at or after: 2026-02-03T04:05:06Z, or how long ago, such as '2 hours'", moment)
    .option('--until <time>', 'published before', moment)
    .action(async ({ config, json, ...filter }: ListFlags) => {
      await withActingContext('deliveries', config, async (context) => {
        const { listDeliveries } = await import('../operations/deliveries/list-deliveries.js');
        const page = await listDeliveries(context, filter satisfies DeliveryFilter);
        printPage(page, json, line, 'no such deliveries');
      });
    });
}

function showCommand(): Command {
  return new Command('show')
    .description(
      'Show a delivery: every attempt, its dead letter, what people did about it, and what is still to come.',
    )
    .argument('<publication>', 'its identity')
    .argument('<endpoint>', 'the id of the endpoint')
    .option('--tenant <name>', 'tenant of the delivery')
    .option('--json', 'print it as JSON')
    .option(...configOption)
    .action(async (publication: string, endpoint: string, { config, json, tenant }: ShowFlags) => {
      await withActingContext('deliveries', config, async (context) => {
        const { showDelivery } = await import('../operations/deliveries/show-delivery.js');
        const { printDelivery } = await import('./print-delivery.js');
        const name = { publication, endpoint, ...(tenant === undefined ? {} : { tenant }) };
        const shown = await showDelivery(context, name);
        process.stdout.write(json ? `${JSON.stringify(shown)}\n` : printDelivery(shown));
      });
    });
}

function abandonCommand(): Command {
  return new Command('abandon')
    .description(
      'Give a delivery up that was not delivered, and close its dead letter. Only a replay sends it after that; repeating ' +
        'a command with the same --act is harmless.',
    )
    .argument('<publication>', 'its identity')
    .argument('<endpoint>', 'the id of the endpoint')
    .requiredOption('--reason <text>', 'why; recorded')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--tenant <name>', 'tenant of the delivery')
    .option('--act <id>', 'identity of this wish')
    .option('--yes', 'nothing is asked; for scripts that give it to every act')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .action(async (publication: string, endpoint: string, flags: AbandonFlags) => {
      const { config, json, tenant, reason, by = userInfo().username, act } = flags;
      await withActingContext('deliveries', config, async (context) => {
        const { abandonDelivery } = await import('../operations/deliveries/abandon-delivery.js');
        const name = { publication, endpoint, ...(tenant === undefined ? {} : { tenant }) };
        const wish = { by, reason, ...(act === undefined ? {} : { id: act }) };
        const outcome = await abandonDelivery(context, name, wish);
        process.stdout.write(json ? `${JSON.stringify(outcome)}\n` : abandonedLine(outcome));
        if (outcome.outcome === 'superseded') process.exitCode = 1;
      });
    });
}

function abandonedLine({ publication, endpoint, outcome, state, id }: AbandonDeliveryOutcome): string {
  const came = {
    abandoned: `abandoned, it was ${state}`,
    already_abandoned: 'was abandoned before',
    superseded: `was abandoned by this act before, and has been sent again since: it is ${state}`,
  }[outcome];
  return `${plainLine(publication)} → ${endpoint}: ${came} (act ${id})\n`;
}

function line({ publishedAt, state, publication, endpoint, attempts, lastCode }: RecordedDelivery): string {
  const last = lastCode === undefined ? '' : `, last ${lastCode}`;
  const name = plainLine(publication);
  return `${publishedAt.toISOString()} ${state.padEnd(13)} ${name} → ${endpoint} (${attemptsInWords(attempts)}${last})\n`;
}
