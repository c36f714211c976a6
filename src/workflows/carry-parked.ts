import { records } from './activities.js';
import type { EffectProgress } from './contract.js';
import { deadLetterOf } from './dead-letter-of.js';
import { type EventRun, eventRef } from './event-run.js';
import { failedEnd } from './failed-end.js';
import { logLine } from './log-line.js';
import { nudgesOf, pause } from './pause.js';
import { waitMs } from './pauses.js';
import { showState } from './show-state.js';

/** The first look after a minute: `onefold resolve` signals, and the timer is for when that signal was lost. */
const firstLookMs = 60_000;

/** Begins to wait for a person: from now on the event shows as parked, and stands among the dead letters. */
export function beginParked(progress: EffectProgress): void {
  progress.parked = { since: Date.now(), looks: 0 };
}

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
    const message = progress.reasons.at(-1)?.message ?? 'its outcome is unknown';
    const { parked } = await records.recordParked.executeWithOptions({ summary: `parked: ${planned.effect}` }, [
      { ...names, letter: deadLetterOf(run, 'effect_parked', `${planned.effect}: ${message}`) },
    ]);
    if (!parked) return unparked(progress);
    progress.parked = { ...progress.parked, looks: 1 };
    const { eventKey } = run;
    logLine('warn', 'webhook.parked', { eventKey, effect: planned.effect, businessKey: planned.businessKey });
  }
  while (progress.parked) {
    const { since, looks } = progress.parked;
    const until = since + (planned.external?.parkedAtMostMs ?? 0);
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
    const { parked } = await records.lookAtParked.executeWithOptions({ summary: `look: ${planned.effect}` }, [names]);
    if (!parked) return unparked(progress);
    progress.parked = { since, looks: looks + 1 };
  }
  return true;
}

/** A person has spoken, or another event finished it: the attempts from here on have a budget of their own. */
function unparked(progress: EffectProgress): true {
  delete progress.parked;
  delete progress.startedAt;
  progress.waits = 0;
  progress.forgiven = progress.attempts;
  return true;
}
