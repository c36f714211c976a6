import { records } from './activities.js';
import type { AbandonAnswer, EffectEnd, EffectProgress } from './contract.js';
import { endFor } from './end-for.js';
import { type EventRun, eventRef } from './event-run.js';
import { saidOf } from './said-of.js';

/**
 * Records an accepted abandon once the last attempt has ended, with the ledger's verdict on each effect, and sets the
 * answer that the waiting handlers give. Where the ledger has the event as done, there is nothing to abandon.
 */
export async function answerAbandon(run: EventRun): Promise<AbandonAnswer> {
  if (run.abandonAnswer) return run.abandonAnswer;
  if (!run.abandon) throw new TypeError('no abandon was accepted');
  run.phase = 'ending';
  const { carried: _carried, ...input } = run.input;
  const { abandoned, ends, inDoubt } = await records.recordAbandon.executeWithOptions({ summary: 'abandon' }, [
    {
      event: eventRef(run),
      input: { ...input, payload: { stored: true } },
      ...run.abandon,
      // Without a plan nobody has stored the body yet, and a replay will need it.
      ...(!run.plan && 'text' in input.payload ? { text: input.payload.text } : {}),
    },
  ]);
  for (const progress of run.progress) {
    const known = endFor(run, ends, progress.planned);
    progress.ended = known
      ? { ...known, attempts: progress.attempts }
      : (progress.ended ?? unfinished(progress, saidOf(run, inDoubt, progress.planned) !== undefined));
  }
  run.abandonAnswer = {
    abandoned,
    ...(abandoned ? {} : { because: 'every effect of the event is done' }),
    effects: run.progress.flatMap(({ ended }) => (ended ? [ended] : [])),
  };
  return run.abandonAnswer;
}

function unfinished({ planned, attempts }: EffectProgress, inDoubt: boolean): EffectEnd {
  const end = { effect: planned.effect, businessKey: planned.businessKey, outcome: 'abandoned' as const, attempts };
  return planned.external && inDoubt
    ? { ...end, code: 'outcome_unknown', message: 'an attempt may have taken hold, and nobody will find out' }
    : end;
}
