import type { EventKey } from '../identity/event-identity.js';
import type { Source } from '../sources/define-source.js';
import { awaitOutcome } from './await-outcome.js';
import type { Delivery, DeliveryEnd } from './delivery.js';
import { exposedResult } from './exposed-result.js';
import type { AcceptDependencies } from './receive-dependencies.js';
import { recogniseResult } from './recognise-result.js';
import { startDeadlineMs } from './record-event.js';
import type { StartDecision } from './start-decision.js';

/**
 * Ends a delivery that Temporal holds: with the stored outcome of what is done, with the coming one where the source
 * waits for it, else with the path alone. Nothing here refuses any more; what cannot be had is left out.
 */
export async function endDelivery(
  deps: AcceptDependencies,
  source: Source,
  eventKey: EventKey,
  delivery: Delivery,
  { path, runId, started, parked }: StartDecision,
  signal: AbortSignal | undefined,
): Promise<DeliveryEnd> {
  const { settleWithinMs } = source.settings;
  const wait = (deadline: number) =>
    awaitOutcome(deps.client, { eventKey, runId, deadline, ...(signal ? { signal } : {}) });

  if (path === 'duplicate_done') {
    const ended = await wait(Date.now() + startDeadlineMs);
    if (ended.kind === 'completed') return { answer: path, ...(await shown(deps, source, delivery, ended.result)) };
    deps.log.warn({ eventKey, source: source.name, reason: ended.kind }, 'webhook.result_unread');
    return { answer: path };
  }
  if (!started || delivery.acknowledge === 'durable') return { answer: path, ...(parked ? { outcome: 'parked' } : {}) };
  if (!deps.waitingPlaces.take()) return { answer: 'settled_too_late' };
  try {
    const elapsedMs = performance.now() - delivery.arrivedMs;
    const ended = await wait(Date.now() + settleWithinMs - elapsedMs);
    if (ended.kind === 'failed') return { answer: 'effect_failed' };
    if (ended.kind === 'pending') return { answer: 'settled_too_late' };
    return { answer: path, ...(await shown(deps, source, delivery, ended.result)) };
  } finally {
    deps.waitingPlaces.giveBack();
  }
}

/** What of a result is answered: nothing of one that is not ours, the effects' own only where the source shows them. */
async function shown(
  deps: AcceptDependencies,
  source: Source,
  { eventKey, tenant }: Delivery,
  completed: unknown,
): Promise<{ outcome?: string; result?: string }> {
  const recognised = recogniseResult(completed);
  if (!recognised) {
    deps.log.warn({ eventKey, source: source.name }, 'webhook.result_unrecognised');
    return {};
  }
  const { outcome } = recognised;
  const result = source.settings.exposeResult ? await exposedResult(deps, tenant, recognised) : undefined;
  return result === undefined ? { outcome } : { outcome, result };
}
