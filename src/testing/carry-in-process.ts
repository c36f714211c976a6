import { randomUUID } from 'node:crypto';
import { AttemptVanished, type OnStep } from '../effects/attempt-steps.js';
import { buildEvent } from '../effects/build-event.js';
import { carryExternalAttempt } from '../effects/carry-external-attempt.js';
import { carryLocalAttempt } from '../effects/carry-local-attempt.js';
import { classifyFailure } from '../effects/classify-failure.js';
import type { Effect, RegisteredTx } from '../effects/effect.js';
import type { AttemptNotice, ExternalAttemptEnd } from '../effects/external-attempt.js';
import { payloadText } from '../effects/plan-event.js';
import { readRecordedEvent } from '../effects/read-recorded-event.js';
import { OnefoldError } from '../errors.js';
import { businessKey } from '../identity/business-identity.js';
import type { Ledger } from '../ledger/ledger.js';
import { orAborted } from '../runtime/or-aborted.js';
import type { Source } from '../sources/define-source.js';
import type { PlannedEffect, PlannedEvent, ProcessEventInput } from '../workflows/contract.js';

/** An attempt that is carried here, without Temporal. */
export interface AttemptInProcess {
  readonly ledger: Ledger<RegisteredTx>;
  readonly source: Source;
  readonly effect: Effect;
  readonly eventKey: string;
  readonly input: ProcessEventInput;
  readonly plan: PlannedEvent;
  readonly planned: PlannedEffect;
  /** Counted from 1. */
  readonly attempt: number;
  readonly onStep: OnStep;
  readonly onNotice: (notice: AttemptNotice) => void;
}

/**
 * Carries one attempt by the functions that a worker's activity calls, under the same timeout.
 *
 * @throws {AttemptVanished} Where a step was told to crash.
 */
export async function carryInProcess(run: AttemptInProcess): Promise<ExternalAttemptEnd> {
  const { timeoutMs, nonRetryableErrorTypes: nonRetryable } = run.planned.policy;
  const stop = new AbortController();
  const timer = setTimeout(
    () => stop.abort(new OnefoldError('attempt_timed_out', `the attempt exceeded its timeout of ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    return await carry(run, stop.signal);
  } catch (thrown) {
    if (thrown instanceof AttemptVanished) throw thrown;
    return { kind: 'failed', detail: classifyFailure(thrown, nonRetryable), thrown };
  } finally {
    clearTimeout(timer);
  }
}

async function carry(run: AttemptInProcess, signal: AbortSignal): Promise<ExternalAttemptEnd> {
  const { ledger, effect, source, eventKey, input, plan, planned, attempt, onStep, onNotice } = run;
  const { timeoutMs, nonRetryableErrorTypes: nonRetryable } = planned.policy;
  const startedAt = Date.now();
  const { recordedDigest: digest = input.digest, recordedType: type = input.type } = plan;
  const json = await payloadText(ledger, eventKey, input.tenant, digest, { stored: true });
  const common = {
    ...(await buildEvent(source, { ...input, type }, json)),
    eventKey,
    businessKey: businessKey(planned.businessKey),
    attempt,
    owner: randomUUID(),
    timeoutMs,
    signal,
  };
  if (effect.kind === 'local') {
    const { result, ...end } = await orAborted(carryLocalAttempt(ledger, { ...common, effect }), signal);
    return { kind: 'ended', ...end, ...(result ? { result } : {}) };
  }
  return carryExternalAttempt({
    ledger,
    attempt: {
      ...common,
      effect,
      startedAt,
      nonRetryable,
      readEvent: (key) => readRecordedEvent(ledger, source, input.tenant, key),
      onNotice,
      onStep,
    },
  });
}
