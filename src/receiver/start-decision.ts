import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { type EventStartParts, eventStartOptions, type ProcessEvent } from '../runtime/event-start-options.js';
import { searchAttributeNames, workflowNames } from '../workflows/contract.js';

/** What a start is made of. */
export interface EventStart extends EventStartParts {
  /** Do not start again what failed with another body. */
  readonly refuseOtherBody: boolean;
}

/** What one delivery is to its event. */
export interface StartDecision {
  readonly path: 'first_run' | 'retry_after_failure' | 'duplicate_done' | 'in_progress_elsewhere';
  /** The run that was started, or that was found. Stale after a reset: events are addressed by their key. */
  readonly runId: string;
  /** This delivery started the run. False on `retry_after_failure` only where another body was refused. */
  readonly started: boolean;
  /** The event is recorded with another body than this one. */
  readonly bodyDiffers: boolean;
  /** The event runs, and waits for a person; known only where the search attribute is registered. */
  readonly parked?: true;
}

/** Ends after which a new delivery may run the event again: everything closed but not completed. */
const failedStatuses: ReadonlySet<string> = new Set(['FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT']);

/**
 * Records an event, or says what it already is. The engine decides by the uniqueness of the workflow ID, so that of any
 * number of parallel deliveries exactly one starts each run; nothing is read before it is written.
 *
 * Refused as a duplicate, it asks what stands there: completed and running are answers, anything else closed is started
 * again with a policy that only succeeds while that is still so. Where the run vanished meanwhile (its retention ended)
 * it begins anew. Each round is a call, so the deadline that the caller sets around this bounds the rounds.
 *
 * @throws {ServiceError} What Temporal answered, see `startRefusal`.
 */
export async function decideStart(client: Client, start: EventStart): Promise<StartDecision> {
  let reuse: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY' = 'REJECT_DUPLICATE';
  let bodyDiffers = false;
  for (;;) {
    const runId = await tryStart(client, start, reuse);
    if (runId !== undefined) {
      const path = reuse === 'REJECT_DUPLICATE' ? 'first_run' : 'retry_after_failure';
      return { path, runId, started: true, bodyDiffers };
    }
    const found = await describe(client, start.eventKey);
    if (!found) {
      reuse = 'REJECT_DUPLICATE';
      bodyDiffers = false;
      continue;
    }
    bodyDiffers = differs(found, start.input.digest);
    const seen = { runId: found.runId, started: false, bodyDiffers };
    if (found.status.name === 'COMPLETED') return { path: 'duplicate_done', ...seen };
    if (!failedStatuses.has(found.status.name)) {
      return { path: 'in_progress_elsewhere', ...seen, ...(isParked(found) ? { parked: true } : {}) };
    }
    // Another delivery won the new run, which has failed again by now; this one does not begin a third.
    if (reuse === 'ALLOW_DUPLICATE_FAILED_ONLY') return { path: 'in_progress_elsewhere', ...seen };
    if (bodyDiffers && start.refuseOtherBody) return { path: 'retry_after_failure', ...seen };
    reuse = 'ALLOW_DUPLICATE_FAILED_ONLY';
  }
}

/** @returns The run's id, or undefined where the policy refused. */
async function tryStart(
  client: Client,
  start: EventStart,
  reuse: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY',
): Promise<string | undefined> {
  try {
    const handle = await client.workflow.start<ProcessEvent>(workflowNames.processEvent, {
      ...eventStartOptions(start),
      workflowIdReusePolicy: reuse,
      workflowIdConflictPolicy: 'FAIL',
    });
    return handle.firstExecutionRunId;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

async function describe(client: Client, eventKey: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(eventKey).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

function isParked(found: WorkflowExecutionDescription): boolean {
  const state = found.typedSearchAttributes.getAll().find(({ key }) => key.name === searchAttributeNames.state);
  return state?.value === 'parked';
}

/** A run without our memo was started by hand; nothing is known of its body. */
function differs(found: WorkflowExecutionDescription, digest: string): boolean {
  const recorded = found.memo?.digest;
  return typeof recorded === 'string' && recorded !== digest;
}
