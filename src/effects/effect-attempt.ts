import type { BusinessKey } from '../identity/business-identity.js';
import type { Metrics } from '../runtime/metrics.js';
import type { ReceivedEvent } from './event.js';

/** One attempt at an effect, of either kind. */
export interface EffectAttempt {
  readonly event: ReceivedEvent;
  readonly dataDigest: string;
  readonly eventKey: string;
  readonly businessKey: BusinessKey;
  /** Counted from 1. */
  readonly attempt: number;
  /** A fresh UUID per execution. */
  readonly owner: string;
  /** How long it may take, ms: of a local write, every statement, wait and idleness of its transaction too. */
  readonly timeoutMs: number;
  /** Aborts at the timeout, on cancellation, and at shutdown; its reason is the error the attempt fails with. */
  readonly signal: AbortSignal;
  /** Where what is published in it is counted. */
  readonly metrics?: Pick<Metrics, 'published'>;
}
