import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { EventRef } from '../activities/event-ref.js';
import type {
  AbandonAnswer,
  AbandonRequest,
  AttemptReason,
  EffectEnd,
  EffectPhase,
  EffectProgress,
  EventStatus,
  PlannedEvent,
  ProcessEventInput,
} from './contract.js';

/** The state of one run of `processEvent`, shared by its loops and its handlers. */
export interface EventRun {
  readonly input: ProcessEventInput;
  readonly eventKey: string;
  readonly runId: string;
  /** Unix ms, at the latest the start of this run. */
  readonly startedAt: number;
  phase: EventStatus['phase'];
  plan: PlannedEvent | undefined;
  progress: EffectProgress[];
  readonly planning: { attempts: number; waits: number; reasons: AttemptReason[] };
  readonly phases: Map<string, EffectPhase>;
  /** Counts `retryNow` per effect, and under '' for all; a pause ends when its count moves. */
  readonly nudges: Map<string, number>;
  /** Ends when the event's entry among those that wait for a person is not being written; see `inTurn`. */
  writing: Promise<unknown>;
  /** The search attributes as this run set them last. */
  shown: string | undefined;
  /** The history is long enough: loops stop at their next pause, and the event continues as new. */
  rollingOver: boolean;
  /** A person's wish to give the event up, once it was accepted. */
  abandon: { readonly request: AbandonRequest; readonly act: string } | undefined;
  abandonAnswer: AbandonAnswer | undefined;
  /** Cancels all work of the event; set while there is some. */
  stopWork: () => void;
  /** Whether the workflow was cancelled from outside, also where its ending shields itself from that. */
  readonly isCancelled: () => boolean;
}

/** Takes up a new run, or the next one of an event that continued as new. */
export function createEventRun(input: ProcessEventInput): EventRun {
  const { workflowId, runId, startTime } = workflowInfo();
  const scope = CancellationScope.current();
  const { carried } = input;
  return {
    input,
    eventKey: workflowId,
    runId,
    // Not `runStartTime`, which is that of the workflow task: it starts anew with each try of the first one, and so a plan
    // that kills its worker would be fresh for ever.
    startedAt: startTime.getTime(),
    phase: carried?.plan ? 'running' : 'planning',
    plan: carried?.plan,
    progress: [...(carried?.progress ?? [])],
    planning: {
      attempts: carried?.planning.attempts ?? 0,
      waits: carried?.planning.waits ?? 0,
      reasons: [...(carried?.planning.reasons ?? [])],
    },
    phases: new Map(),
    nudges: new Map(),
    writing: Promise.resolve(),
    shown: undefined,
    rollingOver: false,
    abandon: undefined,
    abandonAnswer: undefined,
    stopWork: () => {},
    isCancelled: () => scope.consideredCancelled,
  };
}

/** The event as its activities name it; digest and type are those of the body which the ledger recorded. */
export function eventRef(run: EventRun): EventRef {
  const { tenant, source, id, type, digest, receivedAt, occurredAt } = run.input;
  return {
    eventKey: run.eventKey,
    tenant,
    source,
    id,
    type: run.plan?.recordedType ?? type,
    digest: run.plan?.recordedDigest ?? digest,
    receivedAt,
    ...(occurredAt === undefined ? {} : { occurredAt }),
  };
}

/** The ends so far, in the plan's order. */
export function endsOf(run: EventRun): EffectEnd[] {
  return run.progress.flatMap(({ ended }) => (ended ? [ended] : []));
}

/** Answers the `status` query. */
export function statusOf(run: EventRun): EventStatus {
  return {
    phase: run.phase,
    effects: run.progress.map(({ planned, attempts, nextTryAt, reasons, ended, parked }) => {
      const last = reasons.at(-1);
      const resting = parked ? 'parked' : nextTryAt === undefined ? 'planned' : 'pausing';
      return {
        effect: planned.effect,
        businessKey: planned.businessKey,
        phase: ended ? 'ended' : (run.phases.get(planned.effect) ?? resting),
        attempts: ended?.attempts ?? attempts,
        maximumAttempts: planned.policy.maximumAttempts,
        ...(nextTryAt === undefined ? {} : { nextTryAt: new Date(nextTryAt).toISOString() }),
        ...(last && (!ended || ended.outcome === 'failed')
          ? { lastFailure: { code: last.code, message: last.message } }
          : {}),
        ...(ended ? { outcome: ended.outcome } : {}),
      };
    }),
  };
}
