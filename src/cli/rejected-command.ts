import { userInfo } from 'node:os';
import { Command } from 'commander';
import type { RejectedTotal } from '../ledger/rejected/count-rejected.js';
import type { RejectedSample } from '../ledger/rejected/list-rejected.js';
import type { RejectedFilter } from '../operations/rejected/list-rejected.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { plainLine } from './endpoints/plain-line.js';
import { moment } from './moment-option.js';

interface ListFlags
  extends Pick<RejectedFilter, 'source' | 'code' | 'reason' | 'since' | 'until' | 'cursor' | 'limit'> {
  readonly config?: string;
  readonly json?: boolean;
}

interface ShowFlags {
  readonly config?: string;
  readonly json?: boolean;
  readonly body?: boolean;
  readonly by?: string;
}

/** `onefold rejected` */
export function rejectedCommand(): Command {
  const command = new Command('rejected').description(
    'Look at requests that were refused at the door, before they had an event: how many, why, and a sample of them.',
  );
  // What the executable says of exit codes and help is known only when this one has become part of it.
  command.hook('preSubcommand', (_rejected, subcommand) => void subcommand.copyInheritedSettings(command));
  return command.addCommand(countCommand()).addCommand(listCommand()).addCommand(showCommand());
}

function filtered(command: Command): Command {
  return command
    .option('--source <name>', "of this source; '(unknown)' for paths that name none")
    .option('--code <code>', 'refused with this code')
    .option('--reason <reason>', 'and for this finer reason')
    .option('--since <time>', "received at or after: 2026-02-03T04:05:06Z, or how long ago, such as '2 hours'", moment)
    .option('--until <time>', 'received before', moment);
}

function countCommand(): Command {
  return filtered(new Command('count').description('Count them by source, code and reason, by whole hours.'))
    .option('--json', 'print the counts as JSON')
    .option(...configOption)
    .action(async ({ config, json, ...filter }: ListFlags) => {
      await withActingContext('rejected', config, async (context) => {
        const { countRejected } = await import('../operations/rejected/count-rejected.js');
        const totals = await countRejected(context, filter);
        process.stdout.write(json ? `${JSON.stringify(totals)}\n` : totals.map(totalLine).join(''));
        if (!json && totals.length === 0) process.stderr.write('none were refused\n');
      });
    });
}

function listCommand(): Command {
  return filtered(new Command('list').description('List the sampled ones, the latest first.'))
    .option('--limit <n>', 'rows of a page, 1 to 200 (default 50)', Number)
    .option('--cursor <cursor>', 'the page that an earlier one named')
    .option('--json', 'print the page as JSON: items, and next where there is another page')
    .option(...configOption)
    .action(async ({ config, json, ...filter }: ListFlags) => {
      await withActingContext('rejected', config, async (context) => {
        const { listRejected } = await import('../operations/rejected/list-rejected.js');
        const page = await listRejected(context, filter);
        if (json) {
          process.stdout.write(`${JSON.stringify(page)}\n`);
          return;
        }
        process.stdout.write(page.items.map(sampleLine).join(''));
        if (page.items.length === 0) process.stderr.write('no such samples\n');
        if (page.next !== undefined) process.stderr.write(`more: --cursor ${page.next}\n`);
      });
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('Show one sampled request: why, its headers without secrets, the digest of its body.')
    .argument('<id>', 'its id in the list')
    .option('--body', 'print its body alone, where it is kept; a log line says who looked')
    .option('--by <name>', 'who looks at the body (default: the user of this process)')
    .option('--json', 'print it as JSON; its body, if asked for, as base64')
    .option(...configOption)
    .action(async (id: string, { config, json, body, by }: ShowFlags) => {
      await withActingContext('rejected', config, async (context) => {
        const { showRejected } = await import('../operations/rejected/show-rejected.js');
        const shown = await showRejected(context, id, body ? { by: by ?? userInfo().username } : undefined);
        if (json) {
          const readable = shown.body ? { ...shown, body: shown.body.toString('base64') } : shown;
          process.stdout.write(`${JSON.stringify(readable)}\n`);
        } else process.stdout.write(shown.body ?? describe(shown));
      });
    });
}

function why({ code, reason }: { readonly code: string; readonly reason: string }): string {
  return reason === '' || reason === code ? code : `${code} (${reason})`;
}

function totalLine(total: RejectedTotal): string {
  const { source, count, sampled, firstHour, lastHour } = total;
  const hours = `${hour(firstHour)} to ${hour(lastHour)}`;
  return `${String(count).padStart(8)} ${source} ${why(total)}, hours ${hours}, ${sampled} sampled\n`;
}

function hour(time: Date): string {
  return `${time.toISOString().slice(0, 'yyyy-mm-ddThh'.length)}Z`;
}

function sampleLine(sample: RejectedSample): string {
  const { id, receivedAt, source, status, network = '-', bodyUntil } = sample;
  const kept = bodyUntil ? ', body kept' : '';
  return `${receivedAt.toISOString()} #${id} ${source} ${status} ${why(sample)} from ${network}${kept}\n`;
}

function describe(sample: RejectedSample): string {
  const { method, headers, digest, bytes, bodyUntil } = sample;
  const lines = [
    `  ${plainLine(method)}`,
    ...Object.entries(headers).map(
      ([name, value]) => `  ${plainLine(name)}${value === null ? ' (not kept)' : `: ${plainLine(value)}`}`,
    ),
    digest === undefined ? '  no body was read' : `  body as far as read: ${bytes} bytes, sha256 ${digest}`,
    ...(bodyUntil ? [`  kept until ${bodyUntil.toISOString()}: add --body`] : []),
  ];
  return sampleLine(sample) + lines.map((line) => `${line}\n`).join('');
}
