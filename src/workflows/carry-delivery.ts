import { ApplicationFailure, CancellationScope, CancelledFailure, condition, workflowInfo } from '@temporalio/workflow';
import { cutText } from '../identity/cut-text.js';
import { deliveryRecords, sends, sendTimeoutMs } from './delivery-activities.js';
import type { SendAnswer, SendFailure } from './delivery-contract.js';
import { deliveryWaitMs, maximumAttempts, nextSend } from './delivery-pauses.js';
import { type DeliveryRun, deliveryRef, givesUpAt } from './delivery-run.js';
import { keepReason } from './keep-reason.js';
import { logLine } from './log-line.js';
import { inWords } from './pauses.js';
import { readSendFailure } from './read-send-failure.js';
import { showDelivery } from './show-delivery.js';

/** How the work on a delivery ended. */
export type DeliveryEnd =
  | { readonly kind: 'delivered'; readonly status: number }
  | { readonly kind: 'already_delivered' }
  | { readonly kind: 'already_abandoned'; readonly by: string; readonly reason: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** First pauses of waits that spend no attempt, ms: for an endpoint that takes nothing, and for what is merely away. */
const holdMs = 30_000;
const awayMs = 1_000;

/**
 * One attempt is made even where the budget of elapsed time is over before it, as after a long outage of every relay. What
 * keeps failing before it comes to that ends all the same.
 */
const patience = 20;

/** Whoever waits for a slot is told when one is free; this is for what is not told, such as the slot of a dead worker, ms. */
const longestSlotWaitMs = 60_000;

const kinds: ReadonlySet<unknown> = new Set<SendAnswer['kind']>([
  'delivered',
  'already_delivered',
  'already_abandoned',
  'held',
  'limited',
  'impossible',
]);

/**
 * Takes a delivery to its end, attempt by attempt, with a durable timer between. Resolves without an end when it is to
 * continue as new.
 *
 * @throws {CancelledFailure} when the work was stopped, after the running attempt has ended.
 */
export async function carryDelivery(run: DeliveryRun): Promise<DeliveryEnd | undefined> {
  for (;;) {
    if (run.nextTryAt !== undefined) {
      const waited = await waitForNext(run);
      if (waited === 'rolling_over') return undefined;
      if (waited !== 'over') return waited;
    }
    run.seenChanges = run.changes;
    const end = await tryOnce(run);
    if (end) return end;
    showDelivery(run, 'waiting');
  }
}

/** One look at the endpoint, and mostly one attempt. */
async function tryOnce(run: DeliveryRun): Promise<DeliveryEnd | undefined> {
  let answer: SendAnswer;
  try {
    answer = await send(run);
  } catch (error) {
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('stopped');
    const failure = readSendFailure(error, run.input.eventId);
    if (failure.unrecorded) await deliveryRecords.recordSend(failure.unrecorded);
    return afterFailure(run, failure);
  }
  if (answer.kind === 'delivered' && answer.unrecorded) {
    const { unrecorded } = answer;
    // It was delivered: whoever stops the work now must not leave it looking as if it was not.
    await CancellationScope.nonCancellable(() => deliveryRecords.recordSend(unrecorded));
  }
  return afterAnswer(run, answer);
}

async function send(run: DeliveryRun): Promise<SendAnswer> {
  const { input, policy, ticket } = run;
  const attempt = run.attempts + 1;
  run.waitingFor = undefined;
  run.nextTryAt = undefined;
  run.retryWished = false;
  const summary = cutText(`attempt ${attempt} of ${maximumAttempts(policy)} · ${input.type} → ${input.endpoint}`, 200);
  const answer = await sends.sendPublication.executeWithOptions(
    { summary, startToCloseTimeout: sendTimeoutMs(policy) },
    [
      {
        ...deliveryRef(input),
        eventId: input.eventId,
        runId: run.runId,
        attempt,
        ...(ticket ? { ticket } : {}),
        ...(input.replay ? { replay: input.replay.id } : {}),
      },
    ],
  );
  if (kinds.has((answer as Partial<SendAnswer> | null)?.kind)) return answer;
  throw ApplicationFailure.create({
    type: 'result_unrecognised',
    message: 'something other than an attempt completed the activity',
  });
}

function afterAnswer(run: DeliveryRun, answer: SendAnswer): DeliveryEnd | undefined {
  if ('policy' in answer) run.policy = answer.policy;
  const now = Date.now();
  const end = givesUpAt(run);
  switch (answer.kind) {
    case 'delivered':
      run.attempts += 1;
      return { kind: 'delivered', status: answer.response.status };
    case 'already_delivered':
      return { kind: 'already_delivered' };
    case 'already_abandoned':
      return { kind: 'already_abandoned', by: answer.by, reason: answer.reason };
    case 'impossible':
      return failed(answer.code, answer.message);
    case 'held': {
      const { because } = answer;
      if (now >= end) return failed(because, `${held[because]} when the budget of elapsed time ended`);
      noteWait(run, 'held', because, held[because]);
      run.nextTryAt = Math.min(now + deliveryWaitMs(run.waits, Math.random(), holdMs), end);
      return undefined;
    }
    case 'limited': {
      // At least one attempt is made, however late its turn comes.
      if (now >= end && run.attempts > 0) return spent(run);
      noteWait(run, 'limited', 'rate_or_concurrency_limited', `the endpoint's limit of ${limits[answer.by]}`);
      run.ticket = answer.ticket;
      const waitMs =
        answer.by === 'rate'
          ? answer.waitMs
          : Math.min(deliveryWaitMs(run.waits, Math.random(), answer.waitMs), longestSlotWaitMs);
      run.nextTryAt = now + waitMs;
      return undefined;
    }
  }
}

const held = {
  endpoint_paused: 'the endpoint was paused',
  endpoint_disabled: 'the endpoint was disabled',
} as const;

const limits = { rate: 'requests per second', concurrency: 'requests at once' } as const;

/** Of waits the dead letter keeps one reason for each stretch, not one for each look. */
function noteWait(run: DeliveryRun, waitingFor: 'held' | 'limited', code: string, message: string): void {
  const sameStretch = run.waits > 0 && run.reasons.at(-1)?.code === code;
  run.waits = sameStretch ? run.waits + 1 : 1;
  run.waitingFor = waitingFor;
  run.failed = undefined;
  if (waitingFor !== 'limited') run.ticket = undefined;
  if (sameStretch) return;
  keepReason(run.reasons, run.attempts, { code, message });
  const { deliveryKey, input } = run;
  const { publication, endpoint, eventId } = input;
  logLine('info', `delivery.${waitingFor}`, { deliveryKey, publication, endpoint, eventId, code });
}

/** After a failed attempt: the end, or the moment of the next one. */
function afterFailure(run: DeliveryRun, failure: SendFailure): DeliveryEnd | undefined {
  if (failure.policy) run.policy = failure.policy;
  const now = Date.now();
  const end = givesUpAt(run);
  const status = failure.response?.status;
  const sameCause = run.reasons.at(-1)?.code === failure.code;
  if (failure.counted) run.attempts += 1;
  run.unsent = failure.counted ? 0 : run.unsent + 1;
  run.waits = failure.counted ? 0 : sameCause ? run.waits + 1 : 1;
  if (failure.counted || !sameCause)
    keepReason(run.reasons, run.attempts, failure, status === undefined ? {} : { status });
  run.ticket = undefined;
  run.waitingFor = 'pausing';
  if (failure.permanent) return failed(failure.code, failure.message);
  if (!failure.counted) {
    if (now >= end && (run.attempts > 0 || run.unsent > patience)) return spent(run);
    run.failed = undefined;
    run.nextTryAt = now + deliveryWaitMs(run.waits, Math.random(), awayMs);
    return undefined;
  }
  run.failed = { at: now, retryAfterMs: failure.retryAfterMs ?? 0, random: Math.random() };
  return schedule(run);
}

/** Sets the moment of the next attempt after the last failed one, by the policy as it is now. */
function schedule(run: DeliveryRun): DeliveryEnd | undefined {
  if (!run.failed) return undefined;
  const next = nextSend(run.policy, run.attempts, run.failed, givesUpAt(run));
  if (next.kind === 'at') {
    run.nextTryAt = next.at;
    return undefined;
  }
  if (next.kind === 'budget_spent') return spent(run);
  const asked = inWords(run.failed.retryAfterMs);
  return failed(next.kind, `the endpoint asked for a pause of ${asked}, and less of the budget is left: ${why(run)}`);
}

function spent(run: DeliveryRun): DeliveryEnd {
  const attempts = run.attempts === 1 ? '1 attempt' : `${run.attempts} attempts`;
  return failed('budget_spent', `gave up after ${attempts}: ${why(run)}`);
}

function why(run: DeliveryRun): string {
  const last = run.reasons.at(-1);
  return last ? `${last.code}: ${last.message}` : 'it was never sent';
}

function failed(code: string, message: string): DeliveryEnd {
  return { kind: 'failed', code, message: cutText(message, 800) };
}

/**
 * Waits for the moment of the next try. A changed endpoint may end the wait, or the delivery: its schedule also holds for
 * what waits already, and what was removed gets nothing more.
 */
async function waitForNext(run: DeliveryRun): Promise<'over' | 'rolling_over' | DeliveryEnd> {
  for (;;) {
    // Before all else, so that no new schedule puts off what a person wished for.
    if (run.retryWished) return 'over';
    if (run.changes > run.seenChanges) {
      // Whoever waits for the endpoint asks it; a backoff stays one, by the new schedule.
      if (run.waitingFor !== 'pausing') return 'over';
      const end = await lookAgain(run);
      if (end) return end;
    }
    const remainingMs = (run.nextTryAt ?? 0) - Date.now();
    if (remainingMs <= 0) return 'over';
    if (workflowInfo().continueAsNewSuggested) run.rollingOver = true;
    if (run.rollingOver) return 'rolling_over';
    const { changes } = run;
    await condition(() => run.retryWished || run.changes > changes, remainingMs, { summary: waitSummary(run) });
  }
}

async function lookAgain(run: DeliveryRun): Promise<DeliveryEnd | undefined> {
  run.seenChanges = run.changes;
  const { state, policy } = await deliveryRecords.lookAtEndpoint.executeWithOptions(
    { summary: 'the endpoint was changed' },
    [deliveryRef(run.input)],
  );
  if (state === 'removed') return failed('endpoint_removed', 'the endpoint was removed');
  if (policy) run.policy = policy;
  return schedule(run);
}

function waitSummary(run: DeliveryRun): string {
  const wait = inWords(Math.max(0, (run.nextTryAt ?? 0) - Date.now()));
  return cutText(`next try in ${wait}: ${why(run).replace(/\s+/g, ' ')}`, 200);
}
