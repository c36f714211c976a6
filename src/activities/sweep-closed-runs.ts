import { Context } from '@temporalio/activity';
import { type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { moveSweepCursor, readSweepCursor } from '../ledger/sweep-cursor.js';
import { sideBySide } from '../runtime/side-by-side.js';
import type { SweepResult } from '../workflows/contract.js';
import type { ActivityDependencies } from './dependencies.js';

const dayMs = 24 * 3_600_000;

/** The first sweep looks back this far; runs closed earlier were closed before there was a sweeper. */
const firstLookBackMs = dayMs;

/** Visibility is eventually consistent: each sweep looks again at the last while of the one before. */
const overlapMs = 5 * 60_000;

/** A run that cannot be read or written holds the cursor back for so long after its end; see {@link sweepClosedRuns}. */
const heldForMs = dayMs;

/** The first window, ms: that of a sweep where nothing unusual happened. */
const firstWindowMs = 15 * 60_000;

/** Windows grow up to this where little was closed, and shrink down to the other where much was, ms. */
const widestWindowMs = dayMs;
const narrowestWindowMs = 1_000;

/** Runs of a window above which it is looked at in parts, so that the cursor moves every few seconds. */
const windowRuns = 500;

/** Runs looked at side by side. */
const parallelRuns = 16;

/** One of three things that share the ten minutes of the activity, ms. */
const sweepMs = 3 * 60_000;

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
  /** Of these runs, by the ledger alone, the IDs of those that lack nothing, whatever Temporal says. */
  listSettled(closed: readonly WorkflowExecutionInfo[]): Promise<ReadonlySet<string>>;
  /** Writes the dead letter that a run lacks; told of latest runs only. @returns Whether it wrote one. */
  writeMissing(closed: WorkflowExecutionInfo): Promise<boolean>;
}

/**
 * Finds workflows whose latest run was terminated, timed out or cancelled: none of our code ran then, and at the end of the
 * retention the input would be gone.
 *
 * It looks at one window of close times after the other, from the cursor on, and moves the cursor behind each. So after a
 * mass termination every sweep, and every retry of one, goes on where the one before was ended, and one whose time is over
 * leaves the rest to the next.
 *
 * A run that failed holds the cursor back, but no longer than a day after its end once a second sweep has failed at it: so a
 * stubborn one is tried for a day, and does not make the sweeps longer for ever.
 */
export async function sweepClosedRuns(
  deps: Pick<ActivityDependencies, 'client' | 'ledger' | 'log'>,
  runs: ClosedRuns,
): Promise<SweepResult> {
  const { database, schema } = deps.ledger;
  const began = Date.now();
  const cursor = (await readSweepCursor(database.query, schema, runs.cursor))?.getTime();
  const swept = { looked: 0, deadLettered: 0, failed: 0 };
  const holds = (closedAt: number): boolean =>
    closedAt > began - heldForMs || cursor === undefined || closedAt > cursor;
  // Where the next sweep begins: at the oldest run that failed, so that a stubborn one holds back its own stretch only.
  let held = Number.POSITIVE_INFINITY;
  let widthMs = firstWindowMs;
  for (let from = (cursor ?? began - firstLookBackMs) - overlapMs; from < began; ) {
    if (Date.now() - began > sweepMs) {
      deps.log.warn({ cursor: runs.cursor, until: new Date(from).toISOString(), ...swept }, 'sweep.behind');
      break;
    }
    const to = Math.min(from + widthMs, began);
    const splits = to - from > narrowestWindowMs;
    const closed = await listClosed(deps, runs, from, to, splits ? windowRuns : Number.POSITIVE_INFINITY);
    if (!closed) {
      widthMs = Math.max(narrowestWindowMs, (to - from) / 4);
      continue;
    }
    await sweepWindow(deps, runs, closed, swept, (closedAt) => {
      if (closedAt !== undefined && holds(closedAt)) held = Math.min(held, closedAt);
    });
    await moveSweepCursor(database.query, schema, runs.cursor, new Date(Math.min(to, held)));
    if (closed.length < windowRuns / 4) widthMs = Math.min(widthMs * 2, widestWindowMs);
    from = to;
  }
  if (swept.deadLettered > 0) deps.log.warn({ looked: swept.looked, deadLettered: swept.deadLettered }, runs.swept);
  return swept;
}

/** The runs that were closed in a window, or undefined where there are more than the limit. */
async function listClosed(
  { client }: Pick<ActivityDependencies, 'client'>,
  { workflowType, taskQueue }: ClosedRuns,
  from: number,
  to: number,
  limit: number,
): Promise<readonly WorkflowExecutionInfo[] | undefined> {
  const query = `WorkflowType = '${workflowType}' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}' AND ExecutionStatus IN ('Terminated', 'TimedOut', 'Canceled') AND CloseTime >= '${new Date(from).toISOString()}' AND CloseTime < '${new Date(to).toISOString()}'`;
  const closed: WorkflowExecutionInfo[] = [];
  for await (const run of client.workflow.list({ query })) {
    takeBreath(closed.length);
    closed.push(run);
    if (closed.length > limit) return undefined;
  }
  return closed;
}

async function sweepWindow(
  deps: Pick<ActivityDependencies, 'client' | 'log'>,
  runs: ClosedRuns,
  closed: readonly WorkflowExecutionInfo[],
  swept: { looked: number; deadLettered: number; failed: number },
  onFailed: (closedAt: number | undefined) => void,
): Promise<void> {
  if (closed.length === 0) return;
  // Most have written their end themselves, or were swept before: the ledger says so of all of them at once.
  const settled = await runs.listSettled(closed);
  await sideBySide(parallelRuns, closed, async (run) => {
    takeBreath(swept.looked);
    swept.looked += 1;
    if (settled.has(run.runId)) return;
    try {
      if ((await isLatest(deps, run)) && (await runs.writeMissing(run))) swept.deadLettered += 1;
    } catch (error) {
      // One run that cannot be read or written must not hide those behind it; the next sweep tries it again.
      swept.failed += 1;
      onFailed(run.closeTime?.getTime());
      deps.log.warn({ [runs.keyField]: run.workflowId, reason: (error as Error).message }, runs.failed);
    }
  });
}

/** Says that the sweep lives, and ends it where the worker stops. */
function takeBreath(looked: number): void {
  const context = Context.current();
  context.cancellationSignal.throwIfAborted();
  context.heartbeat(looked);
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
