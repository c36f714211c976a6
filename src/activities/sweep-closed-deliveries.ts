import { activityInfo } from '@temporalio/activity';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { parsePublicationKey, publicationKey } from '../identity/publication-identity.js';
import { listSettledDeliveries } from '../ledger/publication-deliveries/list-settled-deliveries.js';
import { endDelivery } from '../ledger/sends/end-delivery.js';
import { readFirstArgument } from '../runtime/read-first-argument.js';
import { sha256 } from '../runtime/sha256.js';
import type { SweepResult } from '../workflows/contract.js';
import {
  type DeliveryMemo,
  type DeliveryRef,
  deliverPublicationName,
  deliveryTaskQueue,
  isDeliverPublicationInput,
} from '../workflows/delivery-contract.js';
import type { ActivityDependencies } from './dependencies.js';
import { sweepClosedRuns } from './sweep-closed-runs.js';

/**
 * Ends deliveries whose latest run was closed from outside as dead letters, as `sweepClosedEvents` does with events: nobody
 * would send them again, and nobody would know. What was delivered or given up before stays so. May be repeated at will.
 */
export function sweepClosedDeliveries(deps: ActivityDependencies): Promise<SweepResult> {
  return sweepClosedRuns(deps, {
    workflowType: deliverPublicationName,
    taskQueue: deliveryTaskQueue(activityInfo().taskQueue),
    cursor: 'closed_deliveries',
    keyField: 'deliveryKey',
    swept: 'delivery.swept',
    failed: 'delivery.sweep_failed',
    listSettled: (closed) => listSettled(deps, closed),
    writeMissing: (closed) => writeMissing(deps, closed),
  });
}

async function listSettled(
  { ledger }: ActivityDependencies,
  closed: readonly WorkflowExecutionInfo[],
): Promise<ReadonlySet<string>> {
  const runs = closed.flatMap((run) => {
    const delivery = namedBy(run);
    return delivery ? [{ ...delivery, deliveryKey: run.workflowId, runId: run.runId }] : [];
  });
  return new Set(await listSettledDeliveries(ledger.database.query, ledger.schema, runs));
}

async function writeMissing(deps: ActivityDependencies, closed: WorkflowExecutionInfo): Promise<boolean> {
  const { workflowId: deliveryKey, runId } = closed;
  const given = await readFirstArgument(deps.client, { workflowId: deliveryKey, runId });
  // An input of another delivery must not be recorded under this one, whose run it may have taken the place of.
  const input = isDeliverPublicationInput(given) && isOf(deliveryKey, given) ? given : undefined;
  const delivery = input ?? namedBy(closed);
  if (!delivery) return false;
  const { tenant, endpoint, publication } = delivery;
  const { eventId = 'unknown', type = 'unknown', publishedAt = closed.startTime.toISOString() } = input ?? {};
  const code = closed.status.name === 'CANCELLED' ? 'cancelled' : 'terminated';
  const { changed } = await endDelivery(deps.ledger.database.query, deps.ledger.schema, {
    deliveryKey,
    tenant,
    endpoint,
    publication,
    eventId,
    type,
    runId,
    input: JSON.stringify({ endpoint, publication, eventId, type, publishedAt }),
    outcome: 'dead_lettered',
    code,
    message: `the run was closed from outside: ${closed.status.name.toLowerCase()}`,
    // Each attempt stands in a row of its own.
    reasons: '[]',
  });
  if (changed) {
    deps.metrics.deadLetters.inc({ code });
    deps.log.warn({ deliveryKey, publication, endpoint, eventId, code }, 'delivery.failed');
  }
  return changed;
}

function isOf(deliveryKey: string, delivery: DeliveryRef): boolean {
  try {
    return publicationKey(delivery, sha256) === deliveryKey;
  } catch {
    return false;
  }
}

/** What the key names, or the memo where the key has the publication hashed; undefined for a key that is none of ours. */
function namedBy({ workflowId, memo }: WorkflowExecutionInfo): DeliveryRef | undefined {
  const parsed = parsePublicationKey(workflowId);
  if (!parsed) return undefined;
  const { publication: written } = (memo ?? {}) as Partial<Record<keyof DeliveryMemo, unknown>>;
  const publication = parsed.publication ?? written;
  if (typeof publication !== 'string') return undefined;
  const delivery = { tenant: parsed.tenant, endpoint: parsed.endpoint, publication };
  return isOf(workflowId, delivery) ? delivery : undefined;
}
