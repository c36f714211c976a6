import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { EventRunMemo } from '../runtime/event-start-options.js';
import type { OperationsContext } from './context.js';

/**
 * Finds the run that an act started, by the run's memo: the act may have been recorded, its run started, and the process
 * have died before it could write that down. The latest run answers at once; an earlier one is looked for in visibility.
 *
 * @returns The run's id, or undefined where the act has started none.
 */
export async function findReplayRun(
  context: OperationsContext,
  workflowId: string,
  execution: WorkflowExecutionDescription | undefined,
  act: string,
): Promise<string | undefined> {
  if (!execution) return undefined;
  if (carries(execution.memo, act)) return execution.runId;
  // Keys of events and deliveries are percent-encoded, so none can hold a quote.
  const runs = context.client.workflow.list({ query: `WorkflowId = '${workflowId}'` });
  for await (const run of runs) {
    if (carries(run.memo, act)) return run.runId;
  }
  return undefined;
}

function carries(memo: Record<string, unknown> | undefined, act: string): boolean {
  return (memo as Partial<EventRunMemo> | undefined)?.replay === act;
}
