import { Context } from '@temporalio/activity';
import {
  ApplicationFailure,
  type Client,
  type WorkflowExecutionDescription,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { publicationKey } from '../identity/publication-identity.js';
import { type LongStarted, listLongStarted } from '../ledger/publication-deliveries/list-long-started.js';
import { requeueUnsent } from '../ledger/publication-deliveries/requeue-unsent.js';
import { type EndDelivery, endDelivery } from '../ledger/sends/end-delivery.js';
import { moveSweepPlace, readSweepPlace } from '../ledger/sweep-place.js';
import { sha256 } from '../runtime/sha256.js';
import { sideBySide } from '../runtime/side-by-side.js';
import type { SweepResult } from '../workflows/contract.js';
import type { DeliverPublicationResult, DeliveryRef } from '../workflows/delivery-contract.js';
import type { ActivityDependencies } from './dependencies.js';

/** Far longer than a relay takes between starting a workflow and marking it, and than most deliveries are under way. */
const olderThanMs = 3_600_000;

/** Deliveries of one page; the place is kept behind each. */
const pageRows = 200;

/** Pages of one sweep. Most of what they hold is in order, and costs Temporal a look each. */
const maximumPages = 20;

/** Deliveries looked at side by side. */
const parallelLooks = 16;

/** One of three things that share the ten minutes of the activity, ms. */
const reconcileMs = 2 * 60_000;

const placeName = 'started_deliveries';

/** What became of one delivery. */
type Reconciled = 'in_order' | 'requeued' | 'dead_lettered';

/**
 * Finds deliveries under way whose workflow is not: it was deleted, Temporal was restored from before, or it ended without
 * a record of it. Nobody would send them, and they would stand in the way of others to the same endpoint, of which a relay
 * starts only so many ahead. Goes round all of them, a part in each sweep. May be repeated at will.
 *
 * | the workflow | the delivery |
 * |---|---|
 * | is not known, nothing was sent | goes back to the queue |
 * | is not known, something was sent | ends as a dead letter, `delivery_lost`: whether to send it again is a person's to say |
 * | failed, or was closed from outside | ends as a dead letter, with the code of that |
 * | completed as abandoned | ends as abandoned |
 * | completed as delivered | stays, with a warning: the ledger is older than Temporal |
 * | runs | stays |
 */
export async function reconcileDeliveries(deps: ActivityDependencies): Promise<SweepResult> {
  const { database, schema } = deps.ledger;
  const context = Context.current();
  const began = Date.now();
  let looked = 0;
  let requeued = 0;
  let deadLettered = 0;
  let failed = 0;
  let after = readPlace(await readSweepPlace(database.query, schema, placeName));
  for (let page = 0; page < maximumPages && Date.now() - began < reconcileMs; page++) {
    const found = await listLongStarted(database.query, schema, { after, olderThanMs, limit: pageRows });
    await sideBySide(parallelLooks, found, async (delivery) => {
      context.cancellationSignal.throwIfAborted();
      context.heartbeat(looked);
      looked += 1;
      try {
        const became = await reconcile(deps, delivery);
        if (became === 'requeued') requeued += 1;
        if (became === 'dead_lettered') deadLettered += 1;
      } catch (error) {
        // The next round comes by it again.
        failed += 1;
        deps.log.warn({ ...named(delivery), reason: (error as Error).message }, 'delivery.reconcile_failed');
      }
    });
    after = found.length < pageRows ? undefined : found.at(-1);
    await moveSweepPlace(database.query, schema, placeName, after && writePlace(after));
    if (!after) break;
  }
  if (requeued + deadLettered > 0) deps.log.warn({ looked, requeued, deadLettered }, 'delivery.reconciled');
  return { looked, deadLettered, failed };
}

async function reconcile(deps: ActivityDependencies, delivery: LongStarted): Promise<Reconciled> {
  const deliveryKey = publicationKey(delivery, sha256);
  const execution = await describe(deps.client, deliveryKey);
  if (!execution) return reconcileLost(deps, delivery, deliveryKey);
  const end = await readEnd(deps, execution);
  switch (end) {
    case 'none':
      return 'in_order';
    case 'delivered':
      // What was delivered was recorded before its workflow completed: the ledger was restored from before that.
      deps.log.warn({ deliveryKey, ...named(delivery) }, 'delivery.unrecorded');
      return 'in_order';
    default:
      return write(deps, delivery, { deliveryKey, runId: execution.runId, ...end });
  }
}

async function describe(client: Client, deliveryKey: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(deliveryKey).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

async function reconcileLost(
  deps: ActivityDependencies,
  delivery: LongStarted,
  deliveryKey: string,
): Promise<Reconciled> {
  const { ledger, log } = deps;
  if (delivery.attempts === 0) {
    if (!(await requeueUnsent(ledger.database.query, ledger.schema, delivery))) return 'in_order';
    log.warn({ deliveryKey, ...named(delivery) }, 'delivery.requeued');
    return 'requeued';
  }
  return write(deps, delivery, {
    deliveryKey,
    // A run that nobody knows has no ID; the attempts tell one loss from the next.
    runId: `lost after ${delivery.attempts}`,
    outcome: 'dead_lettered',
    code: 'delivery_lost',
    message: 'Temporal does not know its workflow: it was deleted, or Temporal was restored from before its start',
  });
}

type End = Pick<EndDelivery, 'outcome' | 'code' | 'message' | 'by' | 'reason'>;

/** How a run ended; whatever state a server may report beside these is no end. */
async function readEnd(
  { client }: ActivityDependencies,
  { workflowId, runId, status }: WorkflowExecutionDescription,
): Promise<End | 'delivered' | 'none'> {
  switch (status.name) {
    case 'COMPLETED':
    case 'FAILED':
      return readResult(client, workflowId, runId);
    case 'CANCELLED':
    case 'TERMINATED':
    case 'TIMED_OUT':
      return {
        outcome: 'dead_lettered',
        code: status.name === 'CANCELLED' ? 'cancelled' : 'terminated',
        message: `the run was closed from outside: ${status.name.toLowerCase()}`,
      };
    default:
      return 'none';
  }
}

async function readResult(client: Client, workflowId: string, runId: string): Promise<End | 'delivered'> {
  try {
    const handle = client.workflow.getHandle(workflowId, runId, { followRuns: false });
    const result = (await handle.result()) as Partial<DeliverPublicationResult> | null;
    const abandoned = result?.abandoned;
    return abandoned
      ? { outcome: 'abandoned', code: 'abandoned', message: abandoned.reason, ...abandoned }
      : 'delivered';
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    const type = cause instanceof ApplicationFailure ? cause.type : undefined;
    return { outcome: 'dead_lettered', code: type ?? 'internal_error', message: cause?.message ?? 'the run failed' };
  }
}

async function write(
  deps: ActivityDependencies,
  delivery: LongStarted,
  end: End & Pick<EndDelivery, 'deliveryKey' | 'runId'>,
): Promise<Reconciled> {
  const { tenant, endpoint, publication, eventId = 'unknown', type = 'unknown', publishedAt } = delivery;
  const { changed } = await endDelivery(deps.ledger.database.query, deps.ledger.schema, {
    tenant,
    endpoint,
    publication,
    eventId,
    type,
    input: JSON.stringify({ endpoint, publication, eventId, type, publishedAt }),
    // Each attempt stands in a row of its own.
    reasons: '[]',
    ...end,
  });
  if (!changed || end.outcome !== 'dead_lettered') return 'in_order';
  deps.metrics.deadLetters.inc({ code: end.code });
  deps.log.warn({ deliveryKey: end.deliveryKey, ...named(delivery), code: end.code }, 'delivery.failed');
  return 'dead_lettered';
}

function named({ tenant, endpoint, publication, eventId }: LongStarted): Record<string, unknown> {
  return { publication, endpoint, eventId, ...(tenant === '' ? {} : { tenant }) };
}

function writePlace({ tenant, endpoint, publication }: DeliveryRef): string {
  return JSON.stringify([tenant, endpoint, publication]);
}

function readPlace(place: string | undefined): DeliveryRef | undefined {
  if (place === undefined) return undefined;
  const [tenant, endpoint, publication] = JSON.parse(place) as [string, string, string];
  return { tenant, endpoint, publication };
}
