import type { RecordParkedAnswer } from '../activities/record-parked.js';
import { records } from './activities.js';
import type { EffectProgress } from './contract.js';
import { type EventRun, eventRef } from './event-run.js';
import { inTurn } from './in-turn.js';
import { logLine } from './log-line.js';
import { parkedLetter } from './parked-letter.js';

/** What an effect is written down as parked for. */
export interface WhyParked {
  readonly foundParked?: true;
  readonly ownDoubtOnly?: true;
}

/** Writes an effect down as parked, if the ledger has it so or knows no better; from then on its event shows as parked. */
export function recordParked(run: EventRun, progress: EffectProgress, why: WhyParked): Promise<RecordParkedAnswer> {
  return inTurn(run, () => write(run, progress, why));
}

/** Brings the entry of an event that waits for a person up to date after one of its effects has failed. */
export function retellParked(run: EventRun): Promise<void> {
  return inTurn(run, async () => {
    for (const sibling of run.progress) {
      if (!sibling.parked?.looks) continue;
      const { state } = await write(run, sibling, { foundParked: true });
      if (state === 'parked') return;
    }
  });
}

async function write(run: EventRun, progress: EffectProgress, why: WhyParked): Promise<RecordParkedAnswer> {
  const { effect, businessKey } = progress.planned;
  const answer = await records.recordParked.executeWithOptions({ summary: `parked: ${effect}` }, [
    { event: eventRef(run), effect, businessKey, letter: parkedLetter(run, progress), ...why },
  ]);
  // Here and not by the caller: whoever has the next turn must find it.
  if (answer.state === 'parked' && !progress.parked?.looks) {
    progress.parked = { since: progress.parked?.since ?? Date.now(), looks: 1 };
    delete progress.givenUp;
    logLine('warn', 'webhook.parked', { eventKey: run.eventKey, effect, businessKey });
  }
  return answer;
}
