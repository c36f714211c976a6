import type { AttemptStep, OnStep } from '../effects/attempt-steps.js';
import type { Effect, ExternalEffect, LocalEffect } from '../effects/effect.js';
import type { ReceivedEvent } from '../effects/event.js';
import { displayEvent, eventKey } from '../identity/event-identity.js';
import { sha256 } from '../runtime/sha256.js';

/** One call of the code that does the effect: `perform`, or the `commit` of a local write. */
export interface EffectCall {
  readonly effect: string;
  readonly businessKey: string;
  /** `source/event-id` of the event that was handed in. */
  readonly event: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** Of external effects. */
  readonly idempotencyKey?: string;
}

/** Who watches. */
export interface EffectWatch {
  readonly onCall: (call: EffectCall) => void;
  /** For local writes, which tell no steps themselves: before and after their `commit`, inside the transaction. */
  readonly onLocalStep?: OnStep;
}

/** What a crash at a step comes to in a local write, whose steps are all one transaction. */
const localSteps: Readonly<Record<AttemptStep, 'before_call' | 'after_call' | undefined>> = {
  before_claim: 'before_call',
  after_claim: 'before_call',
  before_call: 'before_call',
  after_call: 'after_call',
  before_completion: 'after_call',
  after_completion: undefined,
};

/** The step at which an effect can be told to crash: local writes have two. @throws {TypeError} */
export function crashStep(effect: Effect, at: AttemptStep): AttemptStep {
  if (effect.kind === 'external') return at;
  const step = localSteps[at];
  if (step) return step;
  throw new TypeError(
    `'${effect.name}' is a local write: nothing lies between its completion and its end, so it cannot crash ${at.replace('_', ' ')}`,
  );
}

/** The same effect, whose calls are seen. */
export function watchEffect(effect: Effect, { onCall, onLocalStep }: EffectWatch): Effect {
  const named = ({ event, businessKey, attempt }: { event: ReceivedEvent; businessKey: string; attempt: number }) => ({
    effect: effect.name,
    businessKey,
    event: displayEvent(event),
    attempt,
  });
  if (effect.kind === 'external') {
    return Object.freeze({
      ...effect,
      perform: async (context) => {
        onCall({ ...named(context), idempotencyKey: context.idempotencyKey });
        return effect.perform(context);
      },
    } satisfies ExternalEffect);
  }
  return Object.freeze({
    ...effect,
    commit: async (context) => {
      const step = { ...named(context), eventKey: eventKey(context.event, sha256) };
      await onLocalStep?.('before_call', step);
      onCall(named(context));
      const result = await effect.commit(context);
      await onLocalStep?.('after_call', step);
      return result;
    },
  } satisfies LocalEffect);
}
