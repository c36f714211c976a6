import { type Client, isGrpcServiceError, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { OnefoldError } from '../errors.js';
import type { TakenDelivery } from '../ledger/publications/take-queued.js';
import { type DeliverPublication, deliveryStartOptions } from '../runtime/delivery-start-options.js';
import { deliverPublicationName } from '../workflows/delivery-contract.js';
import { deliveryPolicy } from './delivery-policy.js';

/** What starts a delivery's workflow. */
export interface StartDelivery {
  readonly client: Client;
  /** The application's; deliveries have one of their own beside it. */
  readonly taskQueue: string;
  /** Names of the search attributes that are registered; no other may be named. */
  readonly searchAttributes: ReadonlySet<string>;
}

/** One start call, ms: Temporal answers in a few, and a relay that waits for longer holds up what is behind. */
export const startWithinMs = 5_000;

/**
 * Starts the workflow of a delivery, or finds that it was started before: by a relay that died before it could note so, or
 * by one whose lease ran out. Whether that one still runs makes no difference, since only its ID is asked for.
 *
 * @throws {ServiceError} What Temporal answered; nothing was started, or nobody knows.
 */
export async function startDelivery(
  start: StartDelivery,
  taken: TakenDelivery,
): Promise<'started' | 'already_started'> {
  const { client, taskQueue, searchAttributes } = start;
  const options = deliveryStartOptions(
    {
      version: 1,
      tenant: taken.tenant,
      endpoint: taken.endpoint,
      publication: taken.publication,
      eventId: taken.eventId,
      type: taken.type,
      publishedAt: taken.publishedAt.toISOString(),
      policy: deliveryPolicy({
        endpoint: {
          timeoutMs: taken.endpointTimeoutMs,
          pausesMs: taken.endpointPausesMs,
          elapsedMs: taken.endpointElapsedMs,
        },
        publication: { retried: taken.retried, pausesMs: taken.typePausesMs, elapsedMs: taken.typeElapsedMs },
      }),
      searchAttributes: [...searchAttributes],
    },
    taskQueue,
  );
  try {
    await client.withDeadline(Date.now() + startWithinMs, () =>
      client.workflow.start<DeliverPublication>(deliverPublicationName, {
        ...options,
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
      }),
    );
    return 'started';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'already_started';
    throw error;
  }
}

const invalidArgument = 3;

/**
 * Whether a start failed for its own sake, so that others may succeed: Temporal refused what it was made of, or it could
 * not even be made, since its identity is none. Everything else says nothing about the start: Temporal is away, or something
 * on the way to it is, such as a codec server, and whoever takes the failure for the start's own runs through the whole
 * queue with it.
 */
export function isRefusedStart(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) return false;
  if (error instanceof OnefoldError) return error.code === 'identity_invalid';
  const cause = isGrpcServiceError(error) ? error : (error as { cause?: unknown } | undefined)?.cause;
  return isGrpcServiceError(cause) && cause.code === invalidArgument;
}
