import { Command } from 'commander';
import type { AbandonEventOutcome } from '../operations/abandon-event.js';
import { type ActFlags, actOf, printOutcome, tenantOf, withActOptions } from './act-options.js';
import { withActingContext } from './acting-context.js';
import { plainLine } from './endpoints/plain-line.js';
import { lookFirst } from './look-first.js';

/** `onefold abandon` */
export function abandonCommand(): Command {
  const command = new Command('abandon')
    .description(
      'Give an event up: what is done of it stays done, its dead letter is closed, and redeliveries run nothing. Only a replay ' +
        'takes it up again. Shows where it stands first and asks.',
    )
    .argument('<event>', 'source/event-id, or the workflow ID');
  return withActOptions(command, 'tenant of the event', true).action(async (event: string, flags: ActFlags) => {
    await withActingContext('abandon', flags.config, async (context) => {
      const { abandonEvent } = await import('../operations/abandon-event.js');
      const options = { ...actOf(flags), ...tenantOf(flags) };
      const goOn = await lookFirst(flags, {
        look: () => abandonEvent(context, event, { ...options, dryRun: true }),
        describe,
        question: 'Give it up?',
        code: 'confirmation_missing',
      });
      if (!goOn) return;
      const outcome = await abandonEvent(context, event, options);
      printOutcome(flags, outcome, answer);
      if (outcome.outcome === 'superseded') process.exitCode = 1;
    });
  });
}

function describe({ event, state, effects, abandoned }: AbandonEventOutcome): string {
  const lines = effects.map(
    ({ effect, businessKey, because }) => `  ${effect} ${plainLine(businessKey)}: ${because}\n`,
  );
  const before = abandoned ? `  it was abandoned by ${plainLine(abandoned.by)}: ${plainLine(abandoned.reason)}\n` : '';
  const none = effects.length === 0 ? '  it was never planned\n' : '';
  return `${plainLine(event)}: ${state.ledger} in the ledger, ${state.temporal} in Temporal\n${lines.join('')}${none}${before}`;
}

function answer({ event, outcome, state, abandoned, id }: AbandonEventOutcome): string {
  const came = {
    abandoned: `abandoned, it was ${state.ledger} in the ledger, ${state.temporal} in Temporal`,
    already_abandoned: `was abandoned before, by ${plainLine(abandoned?.by ?? '')}: ${plainLine(abandoned?.reason ?? '')}`,
    superseded: 'was abandoned by this act before, and has been replayed since',
    dry_run: 'would be abandoned',
  }[outcome];
  return `${plainLine(event)}: ${came} (act ${id})\n`;
}
