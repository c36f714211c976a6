import { userInfo } from 'node:os';
import { Command } from 'commander';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { confirmed } from './confirmed.js';

interface RepublishFlags {
  readonly config?: string;
  readonly as: string;
  readonly endpoint?: string;
  readonly tenant?: string;
  readonly reason: string;
  readonly by?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `onefold republish` */
export function republishCommand(): Command {
  return new Command('republish')
    .description(
      'Publish the message of a publication once more as a new event, with a webhook-id of its own: receivers act on it ' +
        'again. To send the same event again, use replay --publication.',
    )
    .argument('<publication>', 'its identity')
    .requiredOption('--as <identity>', 'the new publication identity; republishing under it again is harmless')
    .option('--endpoint <id>', 'to this endpoint alone (default: to all that subscribe to the type now)')
    .requiredOption('--reason <text>', 'why; recorded')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--tenant <name>', 'tenant of the publication')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .action(async (publication: string, flags: RepublishFlags) => {
      if (!flags.yes) {
        process.stderr.write(`${publication} is published anew as ${flags.as}: its receivers act on it again\n`);
        if (!(await confirmed('Publish it?', 'confirmation_missing', 'add --yes'))) {
          process.stderr.write('nothing was changed\n');
          process.exitCode = 1;
          return;
        }
      }
      await withActingContext('republish', flags.config, async (context) => {
        const { republish } = await import('../operations/deliveries/republish.js');
        const outcome = await republish(
          context,
          { publication, ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }) },
          {
            as: flags.as,
            by: flags.by ?? userInfo().username,
            reason: flags.reason,
            ...(flags.endpoint === undefined ? {} : { endpoint: flags.endpoint }),
          },
        );
        const { eventId, path, deliveries } = outcome;
        const text = `${outcome.publication}: ${path} as ${eventId}, ${deliveries.length} deliveries\n`;
        process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : text);
      });
    });
}
