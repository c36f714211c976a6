import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';

/** Ends of a run; whatever else a server may report is not one. */
const closedStatuses: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT']);

/** Describes the latest run of a workflow, or says by undefined that Temporal has forgotten it, or never had it. */
export async function describeExecution(
  client: Client,
  workflowId: string,
): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Whether a run has ended. */
export function isClosed({ status }: WorkflowExecutionDescription): boolean {
  return closedStatuses.has(status.name);
}
