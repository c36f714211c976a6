import { isWaitCode } from '../../effects/classify-failure.js';
import { firstDeliveries, type TracedDelivery } from '../../ledger/trace/read-deliveries.js';
import type { TracedRun } from './read-run.js';
import type { DoneBy, TracedEffect, TracedEvent } from './trace.js';

/** Paths of deliveries that start a run. */
const starting: ReadonlySet<string | null> = new Set(['first_run', 'retry_after_failure']);

/**
 * Says which attempt did an effect, in which run, and what had started that run: a delivery or a replay.
 *
 * The fence ties a completion to its attempt. Where the histories are gone, the last start before the completion is the one,
 * since only one run of an event is open at a time.
 *
 * @param looked Whether Temporal told of the event's runs.
 */
export function attributeWork(event: TracedEvent, effect: TracedEffect, looked: boolean): TracedEffect {
  const tries = event.runs.flatMap((run) =>
    run.steps.filter((step) => step.what === 'attempt' && isOf(step.effect, effect)).map((step) => ({ run, step })),
  );
  const counted = tries.filter(({ step }) => step.code === undefined || !isWaitCode(step.code));
  const told = looked ? { attempts: counted.length } : {};
  const { claim } = effect;
  if (!effect.done || !claim) return { ...effect, ...told };
  const by: DoneBy = { event: claim.event, eventKey: claim.eventKey };
  if (claim.eventKey !== event.eventKey || claim.adoptedBy !== null) return { ...effect, ...told, doneBy: by };
  const did = tries.find(({ step }) => step.outcome === 'done' && step.fence === claim.fence);
  const start = did ? startOf(event, did.run) : lastStart(event, claim.doneAt ?? undefined);
  return {
    ...effect,
    ...told,
    doneBy: {
      ...by,
      ...(did ? { runId: did.run.runId } : {}),
      ...(did?.step.attempt === undefined ? {} : { attempt: did.step.attempt }),
      ...start,
    },
  };
}

/** What started a run. One that was reset, or continued as new, goes on with what its first one was started by. */
export function startOf(
  event: Pick<TracedEvent, 'deliveries'>,
  { replay, receivedAt }: TracedRun,
): Pick<DoneBy, 'delivery' | 'replay'> {
  if (replay) return { replay: { id: replay.id, by: replay.by } };
  const { deliveries } = event;
  const index = deliveries.findIndex((one) => starting.has(one.path) && one.receivedAt.toISOString() === receivedAt);
  return index < 0 ? {} : { delivery: numberOf(deliveries, index) };
}

/** Counted from 1 over all deliveries of the event, of which the middle may be missing. */
export function numberOf(deliveries: readonly TracedDelivery[], index: number): number {
  const { of = deliveries.length } = deliveries[index] ?? {};
  const missing = of - deliveries.length;
  // Only the first ones are counted from the front.
  return index < firstDeliveries ? index + 1 : index + 1 + missing;
}

function lastStart({ deliveries, acts }: TracedEvent, doneAt = new Date()): Pick<DoneBy, 'delivery' | 'replay'> {
  const index = deliveries.findLastIndex(({ path, receivedAt }) => starting.has(path) && receivedAt <= doneAt);
  const replay = acts.findLast(({ kind, outcome, at }) => kind === 'replay' && outcome === 'started' && at <= doneAt);
  const delivered = deliveries[index];
  if (replay && (!delivered || replay.at > delivered.receivedAt)) return { replay: { id: replay.id, by: replay.by } };
  return delivered ? { delivery: numberOf(deliveries, index) } : {};
}

function isOf(called: string | undefined, { effect, claim }: TracedEffect): boolean {
  return called !== undefined && (called === effect || called === claim?.effect);
}
