import { durationMs } from '../runtime/duration.js';

/** Known across copies of the package, so that an effect bundled with its own copy is still understood. */
const verdictMark = Symbol.for('onefold.effect-verdict');

/** What a thrown error says about the attempt. */
export interface EffectVerdict {
  readonly code: 'not_yet' | 'permanent_error' | 'not_done' | 'outcome_unknown';
  /** The earliest next try, in ms from now. */
  readonly retryAfterMs?: number;
}

abstract class EffectError extends Error {
  readonly [verdictMark]: EffectVerdict;

  constructor(verdict: EffectVerdict, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this[verdictMark] = verdict;
    this.name = new.target.name;
  }
}

/**
 * Thrown by an effect that cannot run yet, such as one that needs another event first. It waits without spending an
 * attempt, growing its pause, within the elapsed budget.
 */
export class NotYetError extends EffectError {
  /** @param after The earliest next try: Temporal's words ('60s') or ms. */
  constructor(after: string | number, message = 'not yet', options?: { cause?: unknown }) {
    super({ code: 'not_yet', retryAfterMs: durationMs(after, 'NotYetError') }, message, options);
  }
}

/** Thrown by an effect that will never succeed with this event: the event goes to the dead letters at once. Proves that nothing was done. */
export class PermanentError extends EffectError {
  constructor(message: string, options?: { cause?: unknown }) {
    super({ code: 'permanent_error' }, message, options);
  }
}

/** Thrown by an effect that knows nothing was done, and may be tried again within the budget. */
export class NotDoneError extends EffectError {
  /** @param options.retryAfter The earliest next try: Temporal's words or ms. */
  constructor(message: string, options: { cause?: unknown; retryAfter?: string | number } = {}) {
    const after = options.retryAfter;
    super(
      {
        code: 'not_done',
        ...(after === undefined ? {} : { retryAfterMs: durationMs(after, 'NotDoneError.retryAfter') }),
      },
      message,
      options,
    );
  }
}

/** Thrown by an effect that cannot tell whether it took hold. A local write needs it never: its transaction decides. */
export class OutcomeUnknownError extends EffectError {
  constructor(message: string, options?: { cause?: unknown }) {
    super({ code: 'outcome_unknown' }, message, options);
  }
}

/** Reads what a thrown value says about the attempt, or undefined where it is no error of ours. */
export function readVerdict(thrown: unknown): EffectVerdict | undefined {
  return typeof thrown === 'object' && thrown !== null
    ? (thrown as { [verdictMark]?: EffectVerdict })[verdictMark]
    : undefined;
}
