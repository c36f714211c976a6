import { records } from './activities.js';
import type { EffectProgress } from './contract.js';
import { type EventRun, eventRef } from './event-run.js';
import { failedEnd } from './failed-end.js';
import { nudgesOf, pause } from './pause.js';
import { waitMs } from './pauses.js';
import { recordParked } from './record-parked.js';
import { showState } from './show-state.js';

/** The first look after a minute: `onefold resolve` signals, and the timer is for when that signal was lost. */
const firstLookMs = 60_000;

/** For an effect that was planned as a local write and reaches outside by now: the default of `parkedAtMost`. */
const usualParkedAtMostMs = 30 * 86_400_000;

/**
 * Waits for a person to say what became of an effect, looking at the ledger by a durable timer. Ends when the effect is not
 * parked any more, and as a dead letter when nobody came in time; never as done.
 *
 * @returns False when the event is to continue as new instead of going on.
 */
export async function carryParked(run: EventRun, progress: EffectProgress): Promise<boolean> {
  const { planned } = progress;
  const names = { event: eventRef(run), effect: planned.effect, businessKey: planned.businessKey };
  run.phases.set(planned.effect, 'parked');
  // A person may speak while the ledger is being written or read: that signal must not wait for the timer.
  let seen = nudgesOf(run, planned.effect);
  if (progress.parked?.looks === 0) {
    const { state } = await recordParked(run, progress, { foundParked: true });
    if (state !== 'parked') return unparked(progress);
  }
  while (progress.parked) {
    const { since, looks } = progress.parked;
    const until = since + (planned.external?.parkedAtMostMs ?? usualParkedAtMostMs);
    if (Date.now() >= until) {
      const message = `nobody said what became of it in ${Math.round((until - since) / 3_600_000)} h`;
      progress.ended = failedEnd(progress, 'effect_parked', message);
      delete progress.parked;
      return true;
    }
    progress.nextTryAt ??= Math.min(until, Date.now() + waitMs(looks, Math.random(), firstLookMs));
    showState(run, 'parked');
    const summary = `${planned.effect}: parked, waits for: onefold resolve ${planned.effect} ${planned.indexedKey}`;
    if (!(await pause(run, planned.effect, progress.nextTryAt, summary, seen))) return false;
    delete progress.nextTryAt;
    seen = nudgesOf(run, planned.effect);
    const { parked, listed } = await records.lookAtParked.executeWithOptions({ summary: `look: ${planned.effect}` }, [
      names,
    ]);
    if (!parked) return unparked(progress);
    progress.parked = { since, looks: looks + 1 };
    if (!listed) await recordParked(run, progress, { foundParked: true });
  }
  return true;
}

/** A person has spoken: the attempts from here on have a budget of their own. */
function unparked(progress: EffectProgress): true {
  delete progress.parked;
  delete progress.startedAt;
  delete progress.foundDone;
  progress.waits = 0;
  progress.forgiven = progress.attempts;
  return true;
}
