import { activityInfo, heartbeat } from '@temporalio/activity';
import { type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { inputWithoutBody } from '../effects/plan-event.js';
import { parseEventKey } from '../identity/event-identity.js';
import { moveSweepCursor, readSweepCursor } from '../ledger/sweep-cursor.js';
import { writeDeadLetter } from '../ledger/write-dead-letter.js';
import { readStartInput } from '../runtime/read-start-input.js';
import type { SweepResult } from '../workflows/contract.js';
import type { ActivityDependencies } from './dependencies.js';

const cursorName = 'closed_events';

/** The first sweep looks back this far; runs closed earlier were closed before there was a sweeper. */
const firstLookBackMs = 24 * 3_600_000;

/** Visibility is eventually consistent: each sweep looks again at the last while of the one before. */
const overlapMs = 5 * 60_000;

/**
 * Makes the activity that finds events whose latest run was terminated, timed out or cancelled: none of our code ran
 * then, nobody may redeliver, and at the end of the retention the input would be gone. It writes the missing dead letter
 * from the input in the history. Writing twice changes nothing, so it may be tried and repeated at will.
 */
export function createSweepClosedEvents(deps: ActivityDependencies) {
  return async function sweepClosedEvents(): Promise<SweepResult> {
    const { database, schema } = deps.ledger;
    const began = new Date();
    const cursor = await readSweepCursor(database.query, schema, cursorName);
    const since = new Date((cursor?.getTime() ?? began.getTime() - firstLookBackMs) - overlapMs);
    let looked = 0;
    let deadLettered = 0;
    let failed = 0;
    const taskQueue = activityInfo().taskQueue;
    const query = `WorkflowType = 'processEvent' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}' AND ExecutionStatus IN ('Terminated', 'TimedOut', 'Canceled') AND CloseTime >= '${since.toISOString()}'`;
    for await (const closed of deps.client.workflow.list({ query })) {
      heartbeat(looked);
      looked += 1;
      try {
        if (await writeMissing(deps, closed)) deadLettered += 1;
      } catch (error) {
        // One run that cannot be read or written must not hide those behind it; the next sweep tries it again.
        failed += 1;
        deps.log.warn({ eventKey: closed.workflowId, reason: (error as Error).message }, 'webhook.sweep_failed');
      }
    }
    if (failed === 0) await moveSweepCursor(database.query, schema, cursorName, began);
    if (deadLettered > 0) deps.log.warn({ looked, deadLettered }, 'webhook.swept');
    return { looked, deadLettered, failed };
  };
}

async function writeMissing(deps: ActivityDependencies, closed: WorkflowExecutionInfo): Promise<boolean> {
  const eventKey = closed.workflowId;
  const identity = parseEventKey(eventKey);
  if (!identity) return false;
  const handle = deps.client.workflow.getHandle(eventKey);
  const latest = await handle.describe().catch((error: unknown) => {
    // Visibility still lists it, and the retention has ended since.
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  });
  // A later run has taken the event over: a redelivery, a replay, a reset.
  if (latest?.runId !== closed.runId) return false;
  const input = await readStartInput(deps.client, { workflowId: eventKey, runId: closed.runId });
  if (!input) return false;
  const code = closed.status.name === 'CANCELLED' ? 'cancelled' : 'terminated';
  const { counted } = await writeDeadLetter(deps.ledger.database.query, deps.ledger.schema, {
    tenant: identity.tenant,
    eventKey,
    source: input.source,
    id: input.id,
    type: input.type,
    digest: input.digest,
    receivedAt: input.receivedAt,
    code,
    message: `the run was closed from outside: ${closed.status.name.toLowerCase()}`,
    input: inputWithoutBody(input),
    effects: '[]',
    runId: closed.runId,
    body: 'text' in input.payload ? Buffer.from(input.payload.text) : undefined,
  });
  if (counted) {
    deps.metrics.deadLetters.inc({ code });
    deps.log.warn({ eventKey, code }, 'webhook.failed');
  }
  return counted;
}
