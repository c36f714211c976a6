import type { Client } from '@temporalio/client';
import { isProcessEventInput, type ProcessEventInput } from '../workflows/contract.js';
import { readFirstArgument } from './read-first-argument.js';

/**
 * Reads the input of an event's run from its history.
 *
 * @returns undefined where the run was started with something else.
 * @throws {ServiceError} when Temporal cannot be reached, or no longer has the run.
 */
export async function readStartInput(
  client: Client,
  execution: { readonly workflowId: string; readonly runId: string },
): Promise<ProcessEventInput | undefined> {
  const value = await readFirstArgument(client, execution);
  return isProcessEventInput(value) ? value : undefined;
}
