import { randomUUID } from 'node:crypto';
import { buildEvent } from '../effects/build-event.js';
import { carryExternalAttempt } from '../effects/carry-external-attempt.js';
import { carryLocalAttempt } from '../effects/carry-local-attempt.js';
import type { ExternalEffect, LocalEffect } from '../effects/effect.js';
import type { ReceivedEvent } from '../effects/event.js';
import type { AttemptNotice, ExternalAttemptEnd } from '../effects/external-attempt.js';
import { payloadText } from '../effects/plan-event.js';
import { readRecordedEvent } from '../effects/read-recorded-event.js';
import { travellingResult } from '../effects/travelling-result.js';
import { OnefoldError } from '../errors.js';
import { businessKey } from '../identity/business-identity.js';
import { displayEvent } from '../identity/event-identity.js';
import { orAborted } from '../runtime/or-aborted.js';
import type { Source } from '../sources/define-source.js';
import type { EffectEnd } from '../workflows/contract.js';
import type { AttemptEffectArgument } from './attempt-effect.js';
import { attemptSignal } from './attempt-signal.js';
import type { ActivityDependencies } from './dependencies.js';

/** How often a regular attempt tells the server that its worker lives; a silent one is noticed after five of them. */
const beatEveryMs = 2000;

/** The same where the effect asks for a dead worker to be noticed sooner. */
const quickBeatEveryMs = 500;

/** Carries a local write. All of it is bounded by the attempt's time: whatever hangs must not hold the slot. */
export async function carryLocal(
  deps: ActivityDependencies,
  effect: LocalEffect,
  argument: AttemptEffectArgument,
): Promise<EffectEnd> {
  const { timeoutMs } = argument.policy;
  const stop = attemptSignal(timeoutMs, argument.runStartedAt === undefined ? beatEveryMs : undefined, deps.graceOver);
  const { signal } = stop;
  const carry = async (): Promise<EffectEnd> => {
    const { result, ...end } = await carryLocalAttempt(deps.ledger, {
      effect,
      ...(await eventOf(deps, argument)),
      ...identityOf(argument),
      metrics: deps.metrics,
      timeoutMs,
      signal,
    });
    return { ...endOf(argument, end), ...(result ? { result: travellingResult(result, argument.effects) } : {}) };
  };
  try {
    return await orAborted(carry(), signal);
  } finally {
    stop.release();
  }
}

/** What an attempt at an external effect came to. */
export type ExternalAnswer =
  | { readonly kind: 'ended'; readonly end: EffectEnd }
  | Exclude<ExternalAttemptEnd, { kind: 'ended' }>;

/** Carries an attempt at an external effect, and tells what it notices on the way. */
export async function carryExternal(
  deps: ActivityDependencies,
  effect: ExternalEffect,
  argument: AttemptEffectArgument,
  startedAt: number,
): Promise<ExternalAnswer> {
  const { event: ref } = argument;
  const { timeoutMs, nonRetryableErrorTypes: nonRetryable } = argument.policy;
  const stop = attemptSignal(
    timeoutMs,
    effect.heartbeatMs === undefined ? beatEveryMs : quickBeatEveryMs,
    deps.graceOver,
  );
  const { signal } = stop;
  try {
    const ended = await carryExternalAttempt({
      ledger: deps.ledger,
      attempt: {
        effect,
        ...(await orAborted(eventOf(deps, argument), signal)),
        ...identityOf(argument),
        metrics: deps.metrics,
        startedAt,
        timeoutMs,
        nonRetryable,
        signal,
        readEvent: (eventKey) => readRecordedEvent(deps.ledger, sourceOf(deps, ref.source), ref.tenant, eventKey),
        onNotice: (notice) => tellNotice(deps, argument, notice),
        ...(deps.onStep ? { onStep: deps.onStep } : {}),
      },
    });
    if (ended.kind !== 'ended') return ended;
    const { kind, result, ...end } = ended;
    return {
      kind,
      end: { ...endOf(argument, end), ...(result ? { result: travellingResult(result, argument.effects) } : {}) },
    };
  } finally {
    stop.release();
  }
}

function identityOf({ event, businessKey: key, attempt }: AttemptEffectArgument) {
  return { eventKey: event.eventKey, businessKey: businessKey(key), attempt, owner: randomUUID() };
}

/** Under the name it was planned by, whatever it is called by now. */
function endOf<End>({ effect, businessKey: key, attempt }: AttemptEffectArgument, end: End) {
  return { effect, businessKey: key, attempts: attempt, ...end };
}

async function eventOf(
  deps: ActivityDependencies,
  { event: ref, payload }: AttemptEffectArgument,
): Promise<{ event: ReceivedEvent; dataDigest: string }> {
  const source = sourceOf(deps, ref.source);
  return buildEvent(source, ref, await payloadText(deps.ledger, ref.eventKey, ref.tenant, ref.digest, payload));
}

function sourceOf(deps: ActivityDependencies, name: string): Source {
  const source = deps.catalogue.source(name);
  if (!source) throw new OnefoldError('effect_unknown', `this worker has no source '${name}'`);
  return source;
}

function tellNotice(deps: ActivityDependencies, argument: AttemptEffectArgument, notice: AttemptNotice): void {
  const { event: ref, effect, businessKey: key, attempt } = argument;
  const named = { eventKey: ref.eventKey, event: displayEvent(ref), effect, businessKey: key, attempt };
  if (notice.kind === 'superseded') {
    const { fence, ended } = notice;
    deps.metrics.superseded.inc({ effect });
    deps.log.warn({ ...named, fence, ended, code: 'effect_superseded' }, 'effect.superseded');
    return;
  }
  const { recovery, event: of } = notice;
  deps.metrics.recoveries.inc({ effect, recovery });
  deps.log.info({ ...named, recovery, of }, 'effect.recovering');
}
