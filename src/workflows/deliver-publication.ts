import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  continueAsNew,
  isCancellation,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { cutText } from '../identity/cut-text.js';
import { parsePublicationKey } from '../identity/publication-identity.js';
import { carryDelivery, type DeliveryEnd } from './carry-delivery.js';
import { deliveryRecords } from './delivery-activities.js';
import {
  type DeliverPublicationInput,
  type DeliverPublicationResult,
  type DeliveryOutcome,
  isDeliverPublicationInput,
  type RecordDeliveryEndArgument,
} from './delivery-contract.js';
import { installDeliveryHandlers } from './delivery-handlers.js';
import { carriedDelivery, createDeliveryRun, type DeliveryRun, deliveryRef } from './delivery-run.js';
import { logLine } from './log-line.js';
import { showDelivery } from './show-delivery.js';

/**
 * Delivers one publication to one endpoint. Its workflow ID is the publication identity, so that whoever publishes the
 * same intent again, and every relay that starts it again, meets it here.
 *
 * Ends: completed as delivered; completed as abandoned by a person; failed, after its dead letter was written. Everything
 * stands inside one catch, since an error that escapes workflow code keeps the run running for ever.
 */
export async function deliverPublication(given: DeliverPublicationInput): Promise<DeliverPublicationResult> {
  const malformed = !isDeliverPublicationInput(given) || !belongsHere(given);
  const run = createDeliveryRun(malformed ? stranger() : given);
  try {
    return await deliver(run, malformed);
  } catch (error) {
    if (error instanceof TemporalFailure || error instanceof ContinueAsNew) throw error;
    // Not even the ending could cope with what this run carries, so its end is written without that. It is the same run
    // still: a wish to abandon may be waiting for its answer.
    run.reasons = [];
    run.abandonAnswer ??= { abandoned: false, because: 'the delivery has just ended' };
    return CancellationScope.nonCancellable(() => fail(run, 'internal_error', describe(error)));
  }
}

async function deliver(run: DeliveryRun, malformed: boolean): Promise<DeliverPublicationResult> {
  installDeliveryHandlers(run);
  if (malformed) {
    return fail(run, 'input_malformed', 'started by hand with an input that is not a delivery of this workflow ID');
  }
  let end: DeliveryEnd | undefined;
  try {
    end = await work(run);
  } catch (error) {
    if (!isCancellation(error)) {
      end = { kind: 'failed', code: 'internal_error', message: describe(error) };
    } else if (!run.abandon) {
      // Cancelled from outside: nobody else will write it down.
      return CancellationScope.nonCancellable(() => endCancelled(run));
    }
  }
  return CancellationScope.nonCancellable(() => finish(run, end));
}

async function work(run: DeliveryRun): Promise<DeliveryEnd | undefined> {
  const scope = new CancellationScope();
  run.stopWork = () => scope.cancel();
  return scope.run(() => carryDelivery(run));
}

async function finish(run: DeliveryRun, end: DeliveryEnd | undefined): Promise<DeliverPublicationResult> {
  if (run.abandon) return finishAbandoned(run, run.abandon);
  if (!end) {
    // The next run would not know of it.
    if (run.isCancelled()) return endCancelled(run);
    // A wish to abandon that comes in now is still heard: its handler waits for this run's answer.
    await condition(() => allHandlersFinished() || run.abandon !== undefined);
    if (run.abandon) return finishAbandoned(run, run.abandon);
    const { carried: _carried, ...input } = run.input;
    return continueAsNew<typeof deliverPublication>({ ...input, carried: carriedDelivery(run) });
  }
  switch (end.kind) {
    case 'delivered':
      return complete(run, 'delivered', { status: end.status });
    case 'already_delivered':
      return complete(run, 'already_delivered');
    case 'already_abandoned':
      return complete(run, 'abandoned', { abandoned: { by: end.by, reason: end.reason } });
    case 'failed':
      return fail(run, end.code, end.message);
  }
}

/** Records an accepted abandon once the last attempt has ended. What was delivered by then cannot be abandoned. */
async function finishAbandoned(
  run: DeliveryRun,
  { by, reason, act }: NonNullable<DeliveryRun['abandon']>,
): Promise<DeliverPublicationResult> {
  run.ending = true;
  const { delivered } = await recordEnd(run, { outcome: 'abandoned', by, reason, act });
  run.abandonAnswer = delivered ? { abandoned: false, because: 'it was delivered' } : { abandoned: true };
  return delivered ? complete(run, 'delivered') : complete(run, 'abandoned', { abandoned: { by, reason } });
}

async function endCancelled(run: DeliveryRun): Promise<never> {
  run.ending = true;
  await recordEnd(run, { outcome: 'dead_lettered', code: 'cancelled', message: 'cancelled from outside' });
  await condition(allHandlersFinished);
  throw new CancelledFailure('cancelled from outside');
}

/** Writes the dead letter, then fails the workflow, so that Temporal's own lists and alerts see it too. */
async function fail(run: DeliveryRun, code: string, message: string): Promise<DeliverPublicationResult> {
  run.ending = true;
  const { delivered } = await recordEnd(run, { outcome: 'dead_lettered', code, message });
  // An attempt whose answer was lost may have delivered it.
  if (delivered) return complete(run, 'delivered');
  showDelivery(run, 'dead_lettered');
  logLine('warn', 'delivery.failed', { ...named(run), code });
  await condition(allHandlersFinished);
  throw ApplicationFailure.create({ type: code, message: cutText(message, 1000), nonRetryable: true });
}

async function complete(
  run: DeliveryRun,
  outcome: DeliveryOutcome,
  more: Pick<DeliverPublicationResult, 'status' | 'abandoned'> = {},
): Promise<DeliverPublicationResult> {
  run.ending = true;
  showDelivery(run, outcome === 'abandoned' ? 'abandoned' : 'delivered');
  logLine('info', 'delivery.done', { ...named(run), outcome });
  await condition(allHandlersFinished);
  const { publication, endpoint, eventId } = run.input;
  return { version: 1, publication, endpoint, eventId, outcome, attempts: run.attempts, ...more };
}

function recordEnd(run: DeliveryRun, end: RecordDeliveryEndArgument['end']): Promise<{ readonly delivered: boolean }> {
  const { eventId, type, publishedAt } = run.input;
  const summary = end.outcome === 'abandoned' ? 'abandon' : `dead letter: ${end.code}`;
  return deliveryRecords.recordDeliveryEnd.executeWithOptions({ summary: cutText(summary, 200) }, [
    {
      ...deliveryRef(run.input),
      deliveryKey: run.deliveryKey,
      eventId,
      type,
      publishedAt,
      runId: run.runId,
      end,
      attempts: run.attempts,
      reasons: run.reasons,
    },
  ]);
}

function named({ deliveryKey, input, attempts }: DeliveryRun): Record<string, unknown> {
  const { publication, endpoint, eventId, tenant } = input;
  return { deliveryKey, publication, endpoint, eventId, ...(tenant === '' ? {} : { tenant }), attempts };
}

function belongsHere(input: DeliverPublicationInput): boolean {
  const parsed = parsePublicationKey(workflowInfo().workflowId);
  return (
    parsed !== undefined &&
    parsed.tenant === input.tenant &&
    parsed.endpoint === input.endpoint &&
    (parsed.publication === undefined || parsed.publication === input.publication)
  );
}

/** Enough of a delivery to write down the end of a run whose input is none. */
function stranger(): DeliverPublicationInput {
  const { workflowId, startTime } = workflowInfo();
  const parsed = parsePublicationKey(workflowId);
  return {
    version: 1,
    tenant: parsed?.tenant ?? '',
    endpoint: parsed?.endpoint ?? 'unknown',
    publication: parsed?.publication ?? workflowId,
    eventId: 'unknown',
    type: 'unknown',
    publishedAt: startTime.toISOString(),
    policy: { pausesMs: [], maximumElapsedMs: 0, timeoutMs: 1 },
    searchAttributes: [],
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
}
