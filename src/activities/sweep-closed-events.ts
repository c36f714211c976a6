import { activityInfo, heartbeat } from '@temporalio/activity';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { inputWithoutBody } from '../effects/plan-event.js';
import { type ParsedEventKey, parseEventKey } from '../identity/event-identity.js';
import { listSettledEvents } from '../ledger/list-settled-events.js';
import { writeDeadLetter } from '../ledger/write-dead-letter.js';
import { readStartInput } from '../runtime/read-start-input.js';
import {
  inputBelongsTo,
  type ProcessEventInput,
  type SweepResult,
  unknownDigest,
  workflowNames,
} from '../workflows/contract.js';
import type { ActivityDependencies } from './dependencies.js';
import { reconcileDeliveries } from './reconcile-deliveries.js';
import { sweepClosedDeliveries } from './sweep-closed-deliveries.js';
import { sweepClosedRuns } from './sweep-closed-runs.js';
import { sweepLedger } from './sweep-ledger.js';

/**
 * Makes the activity that finds events whose latest run was terminated, timed out or cancelled: none of our code ran
 * then, nobody may redeliver, and at the end of the retention the input would be gone. It writes the missing dead letter
 * from the input in the history; and the same for deliveries, whose workflows it looks for as well. Writing twice changes
 * nothing, so it may be tried and repeated at will.
 */
export function createSweepClosedEvents(deps: ActivityDependencies) {
  return async function sweepClosedEvents(): Promise<SweepResult> {
    const events = await sweepClosedRuns(deps, {
      workflowType: workflowNames.processEvent,
      taskQueue: activityInfo().taskQueue,
      cursor: 'closed_events',
      keyField: 'eventKey',
      swept: 'webhook.swept',
      failed: 'webhook.sweep_failed',
      listSettled: (closed) => listSettled(deps, closed),
      writeMissing: (closed) => writeMissing(deps, closed),
    });
    const deliveries = await sweepClosedDeliveries(deps);
    const reconciled = await reconcileDeliveries(deps);
    const parts = [events, deliveries, reconciled];
    const looked = parts.reduce((sum, part) => sum + part.looked, 0);
    await tidy(deps, () => heartbeat(looked));
    return {
      looked,
      deadLettered: parts.reduce((sum, part) => sum + part.deadLettered, 0),
      failed: parts.reduce((sum, part) => sum + part.failed, 0),
    };
  };
}

/** What is to be deleted can wait for the next sweep; what was swept above must not be repeated for its sake. */
async function tidy(deps: ActivityDependencies, progress: () => void): Promise<void> {
  try {
    const swept = await sweepLedger({ ledger: deps.ledger, client: deps.client, progress });
    if (Object.values(swept).some((rows) => rows > 0)) deps.log.info({ ...swept }, 'ledger.swept');
  } catch (error) {
    deps.log.warn({ reason: (error as Error).message }, 'ledger.sweep_failed');
  }
}

async function listSettled(
  { ledger }: ActivityDependencies,
  closed: readonly WorkflowExecutionInfo[],
): Promise<ReadonlySet<string>> {
  const runs = closed.flatMap(({ workflowId: eventKey, runId }) => {
    const identity = parseEventKey(eventKey);
    return identity ? [{ tenant: identity.tenant, eventKey, runId }] : [];
  });
  return new Set(await listSettledEvents(ledger.database.query, ledger.schema, runs));
}

async function writeMissing(deps: ActivityDependencies, closed: WorkflowExecutionInfo): Promise<boolean> {
  const eventKey = closed.workflowId;
  const identity = parseEventKey(eventKey);
  if (!identity) return false;
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
