import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type {
  AbandonDeliveryAnswer,
  CarriedDelivery,
  DeliverPublicationInput,
  DeliveryPolicy,
  DeliveryRef,
  DeliveryStatus,
  DeliveryWait,
  FailedSend,
  PaceTicket,
  SendReason,
} from './delivery-contract.js';
import { maximumAttempts, plannedSends } from './delivery-pauses.js';

/** The state of one run of `deliverPublication`, shared by its loop and its handlers. */
export interface DeliveryRun {
  readonly input: DeliverPublicationInput;
  readonly deliveryKey: string;
  readonly runId: string;
  policy: DeliveryPolicy;
  /** Attempts so far, over all runs that continued as new. */
  attempts: number;
  /** Waits of the present kind that spent no attempt. */
  waits: number;
  reasons: SendReason[];
  /** The last failed attempt, while the pause after it lasts. */
  failed: FailedSend | undefined;
  /** Unix ms. */
  nextTryAt: number | undefined;
  waitingFor: DeliveryWait | undefined;
  ticket: PaceTicket | undefined;
  /** Tries since the last counted attempt that never came to send anything, whatever kept them from it. */
  unsent: number;
  /** A person wished for the next try at once, and none has begun since. */
  retryWished: boolean;
  /** Counts `endpointChanged`. */
  changes: number;
  /** The changes that the latest attempt or look has seen. */
  seenChanges: number;
  ending: boolean;
  /** The history is long enough: the loop stops at its next wait, and the delivery continues as new. */
  rollingOver: boolean;
  /** The search attributes as this run set them last. */
  shown: string | undefined;
  /** A person's wish to give the delivery up, once it was accepted. */
  abandon: { readonly by: string; readonly reason: string; readonly act: string } | undefined;
  abandonAnswer: AbandonDeliveryAnswer | undefined;
  /** Cancels the work; set while there is some. */
  stopWork: () => void;
  readonly isCancelled: () => boolean;
}

/** Takes up a new run, or the next one of a delivery that continued as new. */
export function createDeliveryRun(input: DeliverPublicationInput): DeliveryRun {
  const { workflowId, runId } = workflowInfo();
  const scope = CancellationScope.current();
  const { carried } = input;
  return {
    input,
    deliveryKey: workflowId,
    runId,
    policy: carried?.policy ?? input.policy,
    attempts: carried?.attempts ?? 0,
    waits: carried?.waits ?? 0,
    reasons: [...(carried?.reasons ?? [])],
    failed: carried?.failed,
    nextTryAt: carried?.nextTryAt,
    waitingFor: carried?.waitingFor,
    ticket: carried?.ticket,
    unsent: carried?.unsent ?? 0,
    retryWished: carried?.retryWished === true,
    changes: 0,
    seenChanges: 0,
    ending: false,
    rollingOver: false,
    shown: undefined,
    abandon: undefined,
    abandonAnswer: undefined,
    stopWork: () => {},
    isCancelled: () => scope.consideredCancelled,
  };
}

/** The state for the next run. */
export function carriedDelivery(run: DeliveryRun): CarriedDelivery {
  const { policy, attempts, waits, unsent, reasons, failed, nextTryAt, waitingFor, ticket, retryWished } = run;
  return {
    policy,
    attempts,
    waits,
    unsent,
    reasons,
    ...(retryWished ? { retryWished } : {}),
    ...(failed ? { failed } : {}),
    ...(nextTryAt === undefined ? {} : { nextTryAt }),
    ...(waitingFor ? { waitingFor } : {}),
    ...(ticket ? { ticket } : {}),
  };
}

/** Which delivery it is, as the activities take it. */
export function deliveryRef({ tenant, endpoint, publication }: DeliveryRef): DeliveryRef {
  return { tenant, endpoint, publication };
}

/** End of the elapsed budget, Unix ms: it runs from the publishing, or from the wish to send it again. */
export function givesUpAt(run: DeliveryRun): number {
  const { publishedAt, replay } = run.input;
  return Date.parse(replay?.at ?? publishedAt) + run.policy.maximumElapsedMs;
}

/** Answers the `status` query. */
export function deliveryStatus(run: DeliveryRun): DeliveryStatus {
  const last = run.reasons.at(-1);
  const end = givesUpAt(run);
  const moments = run.ending ? [] : plannedSends(run.policy, run.attempts, run.nextTryAt ?? Date.now(), end);
  return {
    phase: run.ending ? 'ending' : (run.waitingFor ?? 'sending'),
    attempts: run.attempts,
    maximumAttempts: maximumAttempts(run.policy),
    ...(run.nextTryAt === undefined ? {} : { nextTryAt: new Date(run.nextTryAt).toISOString() }),
    plan: moments.map((at) => new Date(at).toISOString()),
    givesUpAt: new Date(end).toISOString(),
    ...(last ? { lastFailure: { code: last.code, message: last.message } } : {}),
  };
}
