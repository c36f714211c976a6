import { Command } from 'commander';
import type { ListedPause } from '../operations/pauses/list-paused.js';
import type { PauseOutcome } from '../operations/pauses/pause.js';
import { type ActFlags, actOf, printOutcome, tenantOf, withActOptions } from './act-options.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { plainLine } from './endpoints/plain-line.js';
import { moveEndpointCalled } from './move-endpoint-called.js';
import { eventsInWords, madeBy, pausedInWords } from './print-pause.js';

const tenantOption = 'its events of this tenant alone (default: of every tenant)';

/** `onefold pause` */
export function pauseCommand(): Command {
  const command = new Command('pause').description(
    'Hold an effect, everything of a source, or an endpoint: no attempt begins any more, and what waits spends nothing of ' +
      'its budget. Receiving goes on. An attempt that runs goes on to its end.',
  );
  command.hook('preSubcommand', (_pause, subcommand) => void subcommand.copyInheritedSettings(command));
  return command
    .addCommand(pauseOne('effect', 'Hold an effect.'))
    .addCommand(pauseOne('source', 'Hold every effect of a source.'))
    .addCommand(moveEndpointCalled('pause', 'Hold the deliveries of an endpoint; their elapsed time goes on.'))
    .addCommand(listCommand());
}

function pauseOne(kind: 'effect' | 'source', description: string): Command {
  const command = new Command(kind).description(description).argument('<name>', `of the ${kind}`);
  return withActOptions(command, tenantOption, false).action(async (name: string, flags: ActFlags) => {
    await withActingContext('pause', flags.config, async (context) => {
      const { pause } = await import('../operations/pauses/pause.js');
      const target = kind === 'effect' ? { effect: name } : { source: name };
      const options = { ...actOf(flags), ...(flags.dryRun ? { dryRun: true } : {}) };
      const outcome = await pause(context, { ...target, ...tenantOf(flags) }, options);
      printOutcome(flags, outcome, answer);
      if (outcome.outcome === 'superseded') process.exitCode = 1;
    });
  });
}

function answer(outcome: PauseOutcome): string {
  const { before, id, waiting } = outcome;
  const what = pausedInWords(outcome);
  const met = before ? `; it was paused ${madeBy(before)}` : '';
  const came = {
    paused: `paused, ${eventsInWords(waiting)} (act ${id})`,
    already_paused: `paused${met}; this reason stands now, ${eventsInWords(waiting)} (act ${id})`,
    superseded: `was paused by this act before, and has been resumed since (act ${id})`,
    dry_run: `would be paused, ${eventsInWords(waiting)}${met}`,
  }[outcome.outcome];
  return `${what}: ${came}\n`;
}

function listCommand(): Command {
  return new Command('list')
    .description(
      'List the effects and sources that are paused: since when, by whom, why, and how many open events have them before ' +
        'them. Paused endpoints: onefold endpoints list --state paused.',
    )
    .option('--json', 'print the list as JSON')
    .option(...configOption)
    .action(async ({ config, json }: { readonly config?: string; readonly json?: boolean }) => {
      await withActingContext('pause', config, async (context) => {
        const { listPaused } = await import('../operations/pauses/list-paused.js');
        const paused = await listPaused(context);
        process.stdout.write(json ? `${JSON.stringify(paused)}\n` : paused.map(line).join(''));
        if (paused.length === 0) process.stderr.write('nothing is paused\n');
      });
    });
}

function line(paused: ListedPause): string {
  const { since, waiting, by, reason } = paused;
  const who = `by ${plainLine(by)}: ${plainLine(reason)}`;
  return `${since.toISOString()} ${pausedInWords(paused)} ${who} (${eventsInWords(waiting)})\n`;
}
