import { WorkflowNotFoundError } from '@temporalio/client';
import { listOpenEvents, type OpenEvent } from '../ledger/open-events/list-open-events.js';
import type { OpenEventsOf } from '../ledger/open-events/open-events-of.js';
import { sideBySide } from '../runtime/side-by-side.js';
import { handlerNames, type RetryNowRequest } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';
import { type Interruption, interruption } from './interruption.js';
import { operationFailure } from './operation-failure.js';

/** How far the telling has come. */
export interface ToldEvents {
  /** Open events that were told to try now. */
  readonly told: number;
  /** Others have no workflow any more: replay them, or let them be redelivered. */
  readonly gone: number;
}

/** The same with the reason for which it was broken off: what was not told looks for itself in time. */
export interface ToldOpenEvents extends ToldEvents {
  readonly interrupted?: Interruption;
}

/** A page is one sort of the open events. */
const pageRows = 500;

/** Signals on their way at once: each is a write of the server's, and a task for a worker. */
const atOnce = 20;

/** What one signal, with the client's own retries, is given. */
const signalWithinMs = 10_000;

/**
 * Sends `retryNow` to every open event of a selection, page by page. Each is a signal of its own, since a batch of the
 * server's takes what its lists have, and those lag.
 *
 * @param requests What each event is sent, one signal for each.
 */
export async function tellOpenEvents(
  context: OperationsContext,
  of: OpenEventsOf,
  requests: readonly RetryNowRequest[],
  onProgress?: (progress: ToldEvents) => void,
): Promise<ToldOpenEvents> {
  const { database, schema } = context.ledger;
  let told = 0;
  let gone = 0;
  try {
    for (let after: OpenEvent | undefined; ; ) {
      const page = await listOpenEvents(database.query, schema, of, { after, limit: pageRows });
      await sideBySide(atOnce, page, async (event) => {
        if (await signal(context, event, requests)) told += 1;
        else gone += 1;
      });
      if (page.length > 0) onProgress?.({ told, gone });
      if (page.length < pageRows) return { told, gone };
      after = page.at(-1);
    }
  } catch (error) {
    // What was asked for is committed: that not all could be told of it must not look as if it were not.
    const interrupted = interruption(operationFailure(error));
    context.log.warn({ told, gone, code: interrupted.code, reason: interrupted.message }, 'events.untold');
    return { told, gone, interrupted };
  }
}

/** @returns False where the event's workflow is closed or forgotten. */
async function signal(
  { client }: OperationsContext,
  { eventKey }: OpenEvent,
  requests: readonly RetryNowRequest[],
): Promise<boolean> {
  const handle = client.workflow.getHandle(eventKey);
  try {
    await client.withDeadline(Date.now() + signalWithinMs, async () => {
      for (const request of requests) await handle.signal(handlerNames.retryNow, request);
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
