import { ApplicationFailure, CancellationScope, CancelledFailure } from '@temporalio/workflow';
import { cutText } from '../identity/cut-text.js';
import { localAttempts, records, attempts as regular, serverMarginMs } from './activities.js';
import { carryGivenUp } from './carry-given-up.js';
import { carryParked } from './carry-parked.js';
import type { AttemptAnswer, EffectEnd, EffectProgress, FailureDetail, GivenUpEffect } from './contract.js';
import { endFor } from './end-for.js';
import { type EventRun, eventRef } from './event-run.js';
import { failedEnd } from './failed-end.js';
import { keepReason } from './keep-reason.js';
import { nudgesOf, pause } from './pause.js';
import { backoffMs, inWords, takeOverJitterMs, waitMs } from './pauses.js';
import { readFailure } from './read-failure.js';
import { retellParked } from './record-parked.js';
import { showState } from './show-state.js';

/** Waits that the budget of elapsed time does not count, since the effect itself is not what is late. */
const freeWaits = new Set([
  'claim_waiting',
  'effect_paused',
  'effect_superseded',
  'effect_unknown',
  'ledger_unavailable',
  'outcome_settling',
  'worker_shutdown',
]);

/**
 * Carries one effect of the event to its end, attempt by attempt, with a durable pause between. Returns early, without
 * an end, when the event is to continue as new.
 *
 * @throws {CancelledFailure} when the work was stopped, after the running attempt has ended.
 */
export async function carryEffect(run: EventRun, progress: EffectProgress): Promise<void> {
  const { planned } = progress;
  if (planned.ended) progress.ended ??= planned.ended;
  let local = planned.localFirst && progress.attempts === 0 && progress.waits === 0;
  while (!progress.ended) {
    if (progress.parked) {
      if (!(await carryParked(run, progress))) return;
      continue;
    }
    if (progress.givenUp) {
      if (!(await carryGivenUp(run, progress))) return;
      continue;
    }
    if (progress.nextTryAt !== undefined) {
      if (!(await pause(run, planned.effect, progress.nextTryAt, pauseSummary(progress)))) return;
      delete progress.nextTryAt;
      // A free wait was expected to take longer than `retryNow` let it.
      progress.startedAt = Math.min(progress.startedAt ?? Date.now(), Date.now());
    }
    progress.startedAt ??= Date.now();
    run.phases.set(planned.effect, 'attempting');
    const heard = nudgesOf(run, planned.effect);
    try {
      const answer = await attempt(run, progress, local);
      if (answer.kind === 'ended') progress.ended = answer.end;
      if (answer.kind === 'parked') {
        progress.attempts += 1;
        keepReason(progress.reasons, progress.attempts, {
          code: 'effect_parked',
          message: answer.message,
        });
        progress.parked = { since: Date.now(), looks: 0 };
      }
    } catch (error) {
      if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('stopped');
      const failure = readFailure(error);
      decide(run, progress, failure);
      // Resumed while the attempt was being refused: who resumed it has told everybody, and does not tell again.
      if (failure.code === 'effect_paused' && nudgesOf(run, planned.effect) > heard) progress.nextTryAt = Date.now();
    }
    local = false;
  }
  run.phases.set(planned.effect, 'ended');
  if (progress.ended.outcome === 'failed' && run.progress.some(({ parked, givenUp }) => parked || givenUp)) {
    await retellParked(run);
  }
}

/** After a failed attempt: the end, or the moment of the next one. */
function decide(run: EventRun, progress: EffectProgress, failure: FailureDetail): void {
  const { planned } = progress;
  const { policy } = planned;
  const now = Date.now();
  const sameCause = progress.reasons.at(-1)?.code === failure.code;
  keepReason(progress.reasons, progress.attempts + 1, failure);
  if (failure.counted) {
    progress.attempts += 1;
    progress.waits = 0;
  } else {
    // Each cause grows its own pause: waiting long for one thing is no reason to wait long for the next.
    progress.waits = sameCause ? progress.waits + 1 : 1;
  }
  if (failure.permanent && !isToBeAsked(progress, failure)) {
    const { code, message } = failure;
    giveUp(progress, { code, message, ...(failure.outcomeUnknown ? {} : { ownDoubtOnly: true }) });
    return;
  }
  const counted = progress.attempts - (progress.forgiven ?? 0);
  const spent = `${failure.code}: ${failure.message}`;
  if (failure.counted && counted >= policy.maximumAttempts) {
    giveUp(progress, { code: 'budget_spent', message: `gave up after ${progress.attempts} attempts: ${spent}` });
    return;
  }
  const delayMs = failure.counted
    ? backoffMs(policy, counted, Math.random(), failure.retryAfterMs)
    : atMost(failure.waitAtMostMs, waitMs(progress.waits, Math.random(), failure.retryAfterMs));
  const startedAt = progress.startedAt ?? now;
  if (freeWaits.has(failure.code)) {
    progress.startedAt = startedAt + delayMs;
  } else if (now + delayMs > startedAt + policy.maximumElapsedMs) {
    const elapsed = inWords(now - startedAt);
    const message = `gave up after ${elapsed}, ${progress.attempts} attempts: ${spent}`;
    giveUp(progress, { code: 'budget_spent', message });
    return;
  }
  progress.nextTryAt = now + delayMs;
  run.phases.set(planned.effect, failure.counted ? 'pausing' : 'waiting');
  showState(run, 'waiting');
}

/**
 * Whether the recipient can tell what the attempt came to, which says more than its error: it was final for performing, and
 * after an 'absent' the next attempt finds out whether it still is.
 */
function isToBeAsked({ planned }: EffectProgress, failure: FailureDetail): boolean {
  return failure.outcomeUnknown === true && planned.external?.recovery === 'reconcile';
}

/**
 * Gives an effect up. One whose doubts are settled by asking, or by a person, ends by what the ledger then has of it. Under
 * `forwardsKey` a replay, or a redelivery, sends the same request again, so that its event may rest among the dead letters;
 * so may an abandoned one, which waits for nobody.
 */
function giveUp(progress: EffectProgress, how: GivenUpEffect): void {
  const { external } = progress.planned;
  if (external && external.recovery !== 'forwardsKey' && how.code !== 'abandoned') progress.givenUp = how;
  else progress.ended = failedEnd(progress, how.code, how.message);
}

/** A wait need not be longer than what it waits for. */
function atMost(limitMs: number | undefined, ms: number): number {
  return limitMs === undefined ? ms : Math.min(ms, Math.ceil(limitMs + Math.random() * takeOverJitterMs));
}

async function attempt(run: EventRun, progress: EffectProgress, local: boolean): Promise<AttemptAnswer> {
  const { planned } = progress;
  const number = progress.attempts + 1;
  const argument = {
    event: eventRef(run),
    effect: planned.effect,
    businessKey: planned.businessKey,
    policy: {
      timeoutMs: planned.policy.timeoutMs,
      nonRetryableErrorTypes: planned.policy.nonRetryableErrorTypes,
    },
    effects: run.progress.length,
    attempt: number,
    runId: run.runId,
  };
  const options = {
    startToCloseTimeout: planned.policy.timeoutMs + serverMarginMs,
    ...(planned.external?.heartbeatTimeoutMs === undefined
      ? {}
      : { heartbeatTimeout: planned.external.heartbeatTimeoutMs }),
    summary: `attempt ${number} of ${planned.policy.maximumAttempts} · ${planned.effect} · ${planned.indexedKey}`,
  };
  if (local) {
    const payload = run.plan?.recordedDigest === undefined ? run.input.payload : { stored: true as const };
    const answer = await localAttempts.attemptEffect.executeWithOptions(options, [
      { ...argument, payload, runStartedAt: run.startedAt },
    ]);
    if (answer.kind !== 'use_regular') return answer;
  }
  // The plan has stored the body: a regular activity's argument is written into the history with every attempt.
  const answer: unknown = await regular.attemptEffect.executeWithOptions(options, [
    { ...argument, payload: { stored: true } },
  ]);
  return recognised(run, progress, answer);
}

/** A hand can complete an activity with anything. Only a result with a fence is ours; else the ledger is asked. */
async function recognised(run: EventRun, progress: EffectProgress, answer: unknown): Promise<AttemptAnswer> {
  const {
    kind,
    end: given,
    fence,
  } = (answer ?? {}) as {
    kind?: unknown;
    end?: Partial<EffectEnd> | null;
    fence?: unknown;
  };
  const ended = kind === 'ended' && typeof given?.fence === 'number' && given.effect === progress.planned.effect;
  if (ended || (kind === 'parked' && typeof fence === 'number')) return answer as AttemptAnswer;
  const ends = await records.readEffectEnds(eventRef(run));
  const known = endFor(run, ends, progress.planned);
  if (known) return { kind: 'ended', end: { ...known, attempts: progress.attempts + 1 } };
  throw ApplicationFailure.create({
    type: 'result_unrecognised',
    message: 'something other than an attempt completed the activity, and the ledger knows nothing of it',
  });
}

function pauseSummary({ planned, nextTryAt, reasons }: EffectProgress): string {
  const wait = inWords(Math.max(0, (nextTryAt ?? 0) - Date.now()));
  const last = reasons.at(-1);
  // The summary is a single line in the Web UI, and messages may be long; the whole of it is in the failed attempt.
  const why = last ? `${last.code}: ${last.message}`.replace(/\s+/g, ' ').slice(0, 120) : '';
  return cutText(`${planned.effect}: next try in ${wait}: ${why}`, 200);
}
