import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';

/**
 * Reads the first argument of a run from the first event of its history, which every run has, however it was closed.
 *
 * @returns undefined where the run was started without one.
 * @throws {ServiceError} when Temporal cannot be reached, or no longer has the run.
 */
export async function readFirstArgument(
  client: Client,
  execution: { readonly workflowId: string; readonly runId: string },
): Promise<unknown> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution,
    maximumPageSize: 1,
  });
  const payload = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  if (!payload) return undefined;
  let decoded = [payload];
  for (const codec of client.options.loadedDataConverter.payloadCodecs.toReversed()) {
    decoded = await codec.decode(decoded);
  }
  return decoded[0] && defaultPayloadConverter.fromPayload(decoded[0]);
}
