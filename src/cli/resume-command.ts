import { Command } from 'commander';
import type { ResumeOutcome } from '../operations/pauses/resume.js';
import { type ActFlags, actOf, printOutcome, tenantOf, withActOptions } from './act-options.js';
import { withActingContext } from './acting-context.js';
import { moveEndpointCalled } from './move-endpoint-called.js';
import { eventsInWords, madeBy, pausedInWords } from './print-pause.js';
import { toldInWords } from './print-told.js';
import { progressOn } from './progress-line.js';

const tenantOption = 'the pause of this tenant alone (default: that of every tenant)';

/** `onefold resume` */
export function resumeCommand(): Command {
  const command = new Command('resume').description(
    'End the pause of an effect, a source or an endpoint, and tell every event that waits for it to go on. Broken off, it ' +
      'tells on with the same --act; who is not told looks by itself within a quarter of an hour.',
  );
  command.hook('preSubcommand', (_resume, subcommand) => void subcommand.copyInheritedSettings(command));
  return command
    .addCommand(resumeOne('effect', 'Let an effect go on.'))
    .addCommand(resumeOne('source', 'Let the effects of a source go on.'))
    .addCommand(moveEndpointCalled('resume', 'Let the deliveries of a paused endpoint go on.'));
}

function resumeOne(kind: 'effect' | 'source', description: string): Command {
  const command = new Command(kind).description(description).argument('<name>', `of the ${kind}`);
  return withActOptions(command, tenantOption, false).action(async (name: string, flags: ActFlags) => {
    await withActingContext('resume', flags.config, async (context) => {
      const { resume } = await import('../operations/pauses/resume.js');
      const target = kind === 'effect' ? { effect: name } : { source: name };
      const progress = progressOn(process.stderr);
      const outcome = await resume(
        context,
        { ...target, ...tenantOf(flags) },
        {
          ...actOf(flags),
          ...(flags.dryRun ? { dryRun: true } : {}),
          onProgress: ({ told, gone }) => progress.show(`${told + gone} told`),
        },
      ).finally(() => progress.close());
      printOutcome(flags, outcome, answer);
      if (outcome.outcome === 'superseded' || outcome.interrupted) process.exitCode = 1;
    });
  });
}

function answer(outcome: ResumeOutcome): string {
  const { before, id, waiting, stillPaused } = outcome;
  const was = before ? `, it was paused ${madeBy(before)}` : '';
  const came = {
    resumed: `resumed${was} (act ${id})`,
    not_paused: `was not paused (act ${id})`,
    superseded: `was resumed by this act before, and has been paused since (act ${id})`,
    dry_run: before ? `would be resumed${was}; ${eventsInWords(waiting)}` : 'is not paused',
  }[outcome.outcome];
  const still = stillPaused.map((one) => `  still held by the pause of ${pausedInWords(one)} ${madeBy(one)}\n`);
  const told = outcome.outcome === 'resumed' || outcome.outcome === 'not_paused' ? toldInWords(outcome, id) : '';
  return `${pausedInWords(outcome)}: ${came}\n${still.join('')}${told}`;
}
