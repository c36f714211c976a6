import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { within } from '../runtime/within.js';

/** What waiting for an event's end has shown. */
export type AwaitedOutcome =
  | { readonly kind: 'completed'; readonly result: unknown }
  /** The workflow failed by its own decision: an effect failed for good. */
  | { readonly kind: 'failed' }
  /** No end yet, or an end that says nothing; the event itself is safe. */
  | { readonly kind: 'pending'; readonly error?: Error };

/** What to wait for, and how long. */
export interface AwaitRequest {
  readonly eventKey: string;
  readonly runId: string;
  /** Unix ms. */
  readonly deadline: number;
  /** Aborts when the caller is gone. */
  readonly signal?: AbortSignal;
}

/** Past the deadline a call that ignores its abortion gets this much longer, ms. */
const graceMs = 250;
/** More than the second that the server keeps back of a call's deadline, ms. */
const serverMarginMs = 2_000;

/**
 * Waits for the end of a run and of those that it continued as, under a deadline. Never throws: the event is recorded,
 * so whatever goes wrong here is no reason for the provider to send it again.
 *
 * A run that was terminated, cancelled or timed out may have been reset, or started anew, under the same key: it is
 * looked at again, and only a completion counts.
 */
export async function awaitOutcome(client: Client, request: AwaitRequest): Promise<AwaitedOutcome> {
  const { eventKey, runId } = request;
  try {
    return { kind: 'completed', result: await resultOf(client, request, runId) };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) return { kind: 'pending', error: error as Error };
    if (error.cause instanceof ApplicationFailure) return { kind: 'failed' };
  }
  try {
    const now = await bounded(client, request, () => client.workflow.getHandle(eventKey).describe());
    if (now.status.name !== 'COMPLETED') return { kind: 'pending' };
    return { kind: 'completed', result: await resultOf(client, request, now.runId) };
  } catch (error) {
    return { kind: 'pending', error: error as Error };
  }
}

function resultOf(client: Client, request: AwaitRequest, runId: string): Promise<unknown> {
  return bounded(client, request, () => client.workflow.getHandle(request.eventKey, runId).result());
}

/**
 * Ends a call at the deadline by aborting it, not by gRPC's own deadline: the server answers a long poll, empty, one
 * second before that, and the SDK would ask again and again, some 300 times, until it has passed.
 */
function bounded<Result>(
  client: Client,
  { deadline, signal }: AwaitRequest,
  call: () => Promise<Result>,
): Promise<Result> {
  const remainingMs = Math.max(0, deadline - Date.now());
  const ended = AbortSignal.timeout(Math.ceil(remainingMs));
  return within(
    remainingMs + graceMs,
    client.withAbortSignal(signal ? AbortSignal.any([signal, ended]) : ended, () =>
      client.withDeadline(deadline + serverMarginMs, call),
    ),
    () => new Error('Temporal did not answer within the deadline'),
  );
}
