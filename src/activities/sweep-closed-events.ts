import { activityInfo, heartbeat } from '@temporalio/activity';
import { type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { inputWithoutBody } from '../effects/plan-event.js';
import { type ParsedEventKey, parseEventKey } from '../identity/event-identity.js';
import { moveSweepCursor, readSweepCursor } from '../ledger/sweep-cursor.js';
import { writeDeadLetter } from '../ledger/write-dead-letter.js';
import { readStartInput } from '../runtime/read-start-input.js';
import { inputBelongsTo, type ProcessEventInput, type SweepResult, unknownDigest } from '../workflows/contract.js';
import type { ActivityDependencies } from './dependencies.js';
import { sweepLedger } from './sweep-ledger.js';

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
    // Where the next sweep begins: at the oldest run that failed, so that a stubborn one holds back its own stretch only.
    let until = began;
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
        if (!closed.closeTime || closed.closeTime < until) until = closed.closeTime ?? since;
        deps.log.warn({ eventKey: closed.workflowId, reason: (error as Error).message }, 'webhook.sweep_failed');
      }
    }
    await moveSweepCursor(database.query, schema, cursorName, until);
    if (deadLettered > 0) deps.log.warn({ looked, deadLettered }, 'webhook.swept');
    await tidy(deps, () => heartbeat(looked));
    return { looked, deadLettered, failed };
  };
}

/** What is to be deleted can wait for the next sweep; what was swept above must not be repeated for its sake. */
async function tidy(deps: ActivityDependencies, progress: () => void): Promise<void> {
  try {
    const swept = await sweepLedger({ ledger: deps.ledger, client: deps.client, progress });
    if (swept.payloads + swept.marks + swept.deliveries > 0) deps.log.info({ ...swept }, 'ledger.swept');
  } catch (error) {
    deps.log.warn({ reason: (error as Error).message }, 'ledger.sweep_failed');
  }
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
  const given = await readStartInput(deps.client, { workflowId: eventKey, runId: closed.runId });
  // An input of another event must not be recorded under this one; the letter still is due, since the run that was
  // started by hand may have taken the place of a genuine one.
  const input = given && inputBelongsTo(eventKey, given) ? given : unknownInput(identity, closed);
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
    body: input.digest !== unknownDigest && 'text' in input.payload ? Buffer.from(input.payload.text) : undefined,
  });
  if (counted) {
    deps.metrics.deadLetters.inc({ code });
    deps.log.warn({ eventKey, code }, 'webhook.failed');
  }
  return counted;
}

/** Enough of an event for the dead letter of a run whose input is not its own. */
function unknownInput({ tenant, source, id }: ParsedEventKey, closed: WorkflowExecutionInfo): ProcessEventInput {
  return {
    version: 1,
    tenant,
    source,
    id: id ?? closed.workflowId,
    type: 'unknown',
    digest: unknownDigest,
    receivedAt: closed.startTime.toISOString(),
    payload: { stored: true },
    effects: [],
  };
}
