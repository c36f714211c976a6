import { within } from '../runtime/within.js';
import { type EventStatus, handlerNames } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';

/** A query needs a worker, and whoever asks goes on without one. */
const askWithinMs = 2_000;

/** Asks a running event, or a delivery, where it stands; undefined where no worker answers in time. */
export async function askStatus<Status = EventStatus>(
  { client }: OperationsContext,
  workflowId: string,
): Promise<Status | undefined> {
  const asked = client.withDeadline(Date.now() + askWithinMs, () =>
    client.workflow.getHandle(workflowId).query<Status>(handlerNames.status),
  );
  try {
    return await within(askWithinMs, asked, () => new Error('late'));
  } catch {
    return undefined;
  }
}
