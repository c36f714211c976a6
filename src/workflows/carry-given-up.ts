import type { EffectProgress } from './contract.js';
import type { EventRun } from './event-run.js';
import { failedEnd } from './failed-end.js';
import { pause } from './pause.js';
import { inWords, leaseWaitMs } from './pauses.js';
import { recordParked } from './record-parked.js';
import { showState } from './show-state.js';

/**
 * Ends an effect whose failure was final for its event, by what the ledger has of it. Only the ledger can tell: a failure
 * says nothing about the attempts before it, nor whether an attempt that vanished had begun.
 *
 * Unknown: a person has to speak. Under a running lease: asked again when that is over. Done: one more attempt ends it.
 * Everywhere else it ends as the failure says; a call whose commit failed through the budget too, since its result is kept
 * and a replay commits it.
 *
 * @returns False when the event is to continue as new instead of going on.
 */
export async function carryGivenUp(run: EventRun, progress: EffectProgress): Promise<boolean> {
  const { planned, givenUp } = progress;
  if (!givenUp) return true;
  const { code, message, ownDoubtOnly } = givenUp;
  if (progress.nextTryAt !== undefined) {
    const wait = inWords(Math.max(0, progress.nextTryAt - Date.now()));
    const summary = `${planned.effect}: given up (${code}), asks in ${wait} what a held claim came to`;
    if (!(await pause(run, planned.effect, progress.nextTryAt, summary))) return false;
    delete progress.nextTryAt;
  }
  const claim = await recordParked(run, progress, ownDoubtOnly ? { ownDoubtOnly } : {});
  if (claim.state === 'parked') return true;
  if (claim.state === 'leased') {
    // No attempt, and nothing that the budget of elapsed time counts: that is over.
    progress.waits += 1;
    progress.nextTryAt = Date.now() + leaseWaitMs(progress.waits, Math.random(), claim.leaseLeftMs);
    run.phases.set(planned.effect, 'waiting');
    showState(run, 'waiting');
    return true;
  }
  delete progress.givenUp;
  if (claim.state === 'done' && !progress.foundDone) progress.foundDone = true;
  else progress.ended = failedEnd(progress, code, message);
  return true;
}
