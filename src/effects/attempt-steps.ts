/** The boundaries between the steps of an attempt at an external effect, in their order. */
export const attemptSteps = [
  'before_claim',
  'after_claim',
  'before_call',
  'after_call',
  'before_completion',
  'after_completion',
] as const;

/** One of {@link attemptSteps}. */
export type AttemptStep = (typeof attemptSteps)[number];

/** The attempt that is at a step. */
export interface AttemptAtStep {
  readonly effect: string;
  readonly businessKey: string;
  readonly eventKey: string;
  readonly event: string;
  /** Counted from 1. */
  readonly attempt: number;
}

/**
 * Told of every step of an attempt, and waited for: where tests hold, kill or freeze a worker. One that throws
 * {@link AttemptVanished} makes the attempt end as if its process had died there.
 */
export type OnStep = (step: AttemptStep, attempt: AttemptAtStep) => Promise<void> | void;

/** Thrown at a step: nothing more is written by this attempt, and its outcome is what the ledger then says. */
export class AttemptVanished extends Error {
  override readonly name = 'AttemptVanished';

  constructor(step: AttemptStep) {
    super(`the attempt vanished ${step.replace('_', ' ')}`);
  }
}
