import type { Ledger } from '../ledger/ledger.js';
import type { FailureDetail, StoredResult } from '../workflows/contract.js';
import type { OnStep } from './attempt-steps.js';
import type { ExternalEffect, RegisteredTx } from './effect.js';
import type { EffectAttempt } from './effect-attempt.js';
import type { ReceivedEvent } from './event.js';

/** What an attempt at an external effect tells whoever watches, beside its end. */
export type AttemptNotice =
  /** It goes by the recovery, since an earlier attempt's outcome is unknown. */
  | { readonly kind: 'recovering'; readonly recovery: 'forwardsKey' | 'reconcile' | 'commit'; readonly event: string }
  /** It came back after its lease had been taken, and wrote nothing. */
  | { readonly kind: 'superseded'; readonly fence: number; readonly ended: 'performed' | 'not_done' | 'unknown' };

/** One attempt at an external effect. */
export interface ExternalAttempt extends EffectAttempt {
  readonly effect: ExternalEffect;
  /** When this execution began, Unix ms. */
  readonly startedAt: number;
  /** The policy's `nonRetryableErrorTypes`. */
  readonly nonRetryable: readonly string[];
  /** Reads another event, whose attempt this one takes over; undefined where the ledger has its body no more. */
  readonly readEvent: (eventKey: string) => Promise<ReceivedEvent | undefined>;
  readonly onNotice?: (notice: AttemptNotice) => void;
  readonly onStep?: OnStep;
}

/** How an attempt came out. */
export type ExternalAttemptEnd =
  | {
      readonly kind: 'ended';
      readonly outcome: 'done' | 'already_done' | 'stale';
      readonly fence: number;
      readonly result?: StoredResult;
      /** `source/event-id` of the event that did it, or that carries the newer state, where it was another. */
      readonly doneBy?: string;
      readonly otherData?: boolean;
      /** `source/event-id` of another event with the same version. */
      readonly equalTo?: string;
      /** With `stale`: an earlier attempt at the older state may have taken hold. */
      readonly code?: string;
      readonly message?: string;
    }
  /** Only a person can tell what an earlier attempt did. */
  | { readonly kind: 'parked'; readonly fence: number; readonly message: string; readonly thrown?: unknown }
  /** It failed, or had to wait; `thrown` is what the user's code threw, for the log alone. */
  | { readonly kind: 'failed'; readonly detail: FailureDetail; readonly thrown?: unknown };

/** An attempt together with the ledger it writes to. */
export interface AttemptInLedger {
  readonly ledger: Ledger<RegisteredTx>;
  readonly attempt: ExternalAttempt;
}
