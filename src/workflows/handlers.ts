import {
  CancellationScope,
  condition,
  currentUpdateInfo,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import { reads } from './activities.js';
import { checkAbandon } from './check-abandon.js';
import {
  type AbandonAnswer,
  type AbandonRequest,
  type EventStatus,
  handlerNames,
  type RetryNowRequest,
} from './contract.js';
import { type EventRun, endsOf, statusOf } from './event-run.js';

const retryNow = defineSignal<[RetryNowRequest | undefined]>(handlerNames.retryNow);
const abandon = defineUpdate<AbandonAnswer, [AbandonRequest]>(handlerNames.abandon);
const status = defineQuery<EventStatus>(handlerNames.status);

/** Installs what people can ask of and say to a running event; before the first await, so that nothing said is lost. */
export function installHandlers(run: EventRun): void {
  setHandler(status, () => statusOf(run), { description: 'Where each effect of the event stands.' });
  setHandler(
    retryNow,
    (request) => {
      const effect = typeof request?.effect === 'string' ? request.effect : '';
      if (effect !== '' && !run.progress.some(({ planned }) => planned.effect === effect)) return;
      if (typeof request?.waitingFor === 'string') {
        nudgeWaiting(run, effect, request.waitingFor);
        return;
      }
      run.nudges.set(effect, (run.nudges.get(effect) ?? 0) + 1);
      // Also where the event is just about to continue as new: its next run then finds the pause over.
      for (const progress of run.progress) {
        const meant = effect === '' || progress.planned.effect === effect;
        if (meant && progress.nextTryAt !== undefined) progress.nextTryAt = Date.now();
      }
    },
    { description: 'End the pause between attempts now. Optional argument: {"effect": name}.' },
  );
  setHandler(abandon, (request) => CancellationScope.nonCancellable(() => takeUpAbandon(run, request)), {
    description: 'Give the event up. Argument: {"by": who, "reason": why}. Redeliveries then run nothing.',
    validator: checkAbandon,
  });
}

/** Ends the waits for one thing; an attempt that is just finding out that it must wait for it finds the nudge afterwards. */
function nudgeWaiting(run: EventRun, effect: string, waitingFor: string): void {
  for (const progress of run.progress) {
    const name = progress.planned.effect;
    if (effect !== '' && name !== effect) continue;
    if (progress.nextTryAt !== undefined) {
      if (progress.parked || progress.reasons.at(-1)?.code !== waitingFor) continue;
      progress.nextTryAt = Date.now();
    }
    run.nudges.set(name, (run.nudges.get(name) ?? 0) + 1);
  }
}

/** Stops the work and waits for the run's end to record and answer it; see `answerAbandon`. */
async function takeUpAbandon(run: EventRun, request: AbandonRequest): Promise<AbandonAnswer> {
  const refuse = (because: string): AbandonAnswer => ({ abandoned: false, because, effects: endsOf(run) });
  // An update's id is unique within its workflow alone, and a script may give many events the same one.
  const act = `${run.eventKey}#${currentUpdateInfo()?.id ?? run.runId}`;
  // A reset applies updates again; what was carried out before the reset is not carried out by it.
  if (await reads.wasActCarriedOut({ tenant: run.input.tenant, id: act })) {
    return refuse('this request was carried out before');
  }
  if (run.phase === 'ending') return refuse('the event has just ended');
  run.abandon ??= { request, act };
  run.stopWork();
  await condition(() => run.abandonAnswer !== undefined);
  return run.abandonAnswer ?? refuse('the event has just ended');
}
