import { heartbeat } from '@temporalio/activity';
import { type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { moveSweepCursor, readSweepCursor } from '../ledger/sweep-cursor.js';
import type { SweepResult } from '../workflows/contract.js';
import type { ActivityDependencies } from './dependencies.js';

/** The first sweep looks back this far; runs closed earlier were closed before there was a sweeper. */
const firstLookBackMs = 24 * 3_600_000;

/** Visibility is eventually consistent: each sweep looks again at the last while of the one before. */
const overlapMs = 5 * 60_000;

/** Which runs a sweep looks at, and how it speaks of them. */
export interface ClosedRuns {
  readonly workflowType: string;
  readonly taskQueue: string;
  /** Of the sweep's cursor in the ledger. */
  readonly cursor: string;
  /** Field of a log line that holds the workflow ID. */
  readonly keyField: string;
  /** Log line where something was written. */
  readonly swept: string;
  /** Log line for a run that could not be read or written. */
  readonly failed: string;
}

/**
 * Finds workflows whose latest run was terminated, timed out or cancelled: none of our code ran then, and at the end of the
 * retention the input would be gone.
 *
 * @param writeMissing Writes the dead letter that a run lacks; told of latest runs only. @returns Whether it wrote one.
 */
export async function sweepClosedRuns(
  deps: Pick<ActivityDependencies, 'client' | 'ledger' | 'log'>,
  runs: ClosedRuns,
  writeMissing: (closed: WorkflowExecutionInfo) => Promise<boolean>,
): Promise<SweepResult> {
  const { database, schema } = deps.ledger;
  const began = new Date();
  const cursor = await readSweepCursor(database.query, schema, runs.cursor);
  const since = new Date((cursor?.getTime() ?? began.getTime() - firstLookBackMs) - overlapMs);
  let looked = 0;
  let deadLettered = 0;
  let failed = 0;
  // Where the next sweep begins: at the oldest run that failed, so that a stubborn one holds back its own stretch only.
  let until = began;
  const query = `WorkflowType = '${runs.workflowType}' AND TaskQueue = '${runs.taskQueue.replaceAll("'", "''")}' AND ExecutionStatus IN ('Terminated', 'TimedOut', 'Canceled') AND CloseTime >= '${since.toISOString()}'`;
  for await (const closed of deps.client.workflow.list({ query })) {
    heartbeat(looked);
    looked += 1;
    try {
      if ((await isLatest(deps, closed)) && (await writeMissing(closed))) deadLettered += 1;
    } catch (error) {
      // One run that cannot be read or written must not hide those behind it; the next sweep tries it again.
      failed += 1;
      if (!closed.closeTime || closed.closeTime < until) until = closed.closeTime ?? since;
      deps.log.warn({ [runs.keyField]: closed.workflowId, reason: (error as Error).message }, runs.failed);
    }
  }
  await moveSweepCursor(database.query, schema, runs.cursor, until);
  if (deadLettered > 0) deps.log.warn({ looked, deadLettered }, runs.swept);
  return { looked, deadLettered, failed };
}

/** Whether no later run has taken over: a redelivery, a replay, a reset. */
async function isLatest(
  { client }: Pick<ActivityDependencies, 'client'>,
  closed: WorkflowExecutionInfo,
): Promise<boolean> {
  try {
    const latest = await client.workflow.getHandle(closed.workflowId).describe();
    return latest.runId === closed.runId;
  } catch (error) {
    // Visibility still lists it, and the retention has ended since.
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
