import { durationMs } from '../runtime/duration.js';

/** Known across copies of the package, so that an effect bundled with its own copy is still understood. */
const verdictMark = Symbol.for('onefold.effect-verdict');

/** What a thrown error says about the attempt. */
export interface EffectVerdict {
  readonly code: 'not_yet' | 'permanent_error' | 'not_done' | 'outcome_unknown';
  /** The earliest next try, in ms from now. */
  readonly retryAfterMs?: number;
  /** Present where the verdict speaks for the idempotency key, not only for this attempt; see {@link SettlingOptions}. */
  readonly settlesKey?: true;
}

/** What an error that proves that nothing was done can say beyond that. */
export interface SettlingOptions {
  readonly cause?: unknown;
  /**
   * True says: the recipient answered for the idempotency key as a whole. No attempt under this key has acted, none that
   * is still under way will, and the answer stays. That a recipient stores a refusal under the key is such an answer; that
   * this one attempt did nothing is not.
   *
   * It counts only in external effects, and matters only where an earlier attempt's outcome is unknown: without it that
   * stays unknown under the same key, with it the doubt ends and the next attempt has a new key. Default false.
   */
  readonly settlesKey?: boolean;
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

/**
 * Thrown by an effect that will never succeed with this event: the event goes to the dead letters at once. Proves that
 * this attempt did nothing.
 */
export class PermanentError extends EffectError {
  constructor(message: string, options: SettlingOptions = {}) {
    super({ code: 'permanent_error', ...settling(options) }, message, options);
  }
}

/** Thrown by an effect that knows this attempt did nothing, and may be tried again within the budget. */
export class NotDoneError extends EffectError {
  /** @param options.retryAfter The earliest next try: Temporal's words or ms. */
  constructor(message: string, options: SettlingOptions & { readonly retryAfter?: string | number } = {}) {
    const after = options.retryAfter;
    super(
      {
        code: 'not_done',
        ...(after === undefined ? {} : { retryAfterMs: durationMs(after, 'NotDoneError.retryAfter') }),
        ...settling(options),
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

function settling({ settlesKey }: SettlingOptions): { settlesKey?: true } {
  return settlesKey === true ? { settlesKey } : {};
}

/** Reads what a thrown value says about the attempt, or undefined where it is no error of ours. */
export function readVerdict(thrown: unknown): EffectVerdict | undefined {
  return typeof thrown === 'object' && thrown !== null
    ? (thrown as { [verdictMark]?: EffectVerdict })[verdictMark]
    : undefined;
}
