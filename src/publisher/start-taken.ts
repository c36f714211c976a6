import type { Client } from '@temporalio/client';
import { publicationKey } from '../identity/publication-identity.js';
import type { Ledger } from '../ledger/ledger.js';
import { giveBackQueued, markStarted } from '../ledger/publications/mark-started.js';
import type { TakenDelivery } from '../ledger/publications/take-queued.js';
import type { Logger } from '../runtime/logger.js';
import type { RegisteredAttributes } from '../runtime/registered-attributes.js';
import { sha256 } from '../runtime/sha256.js';
import type { OutboxAgeGauge } from './measure-outbox-age.js';
import type { RelayWaits } from './relay-waits.js';
import { isRefusedStart, startDelivery, startWithinMs } from './start-delivery.js';

/** What a relay counts. */
export interface RelayMetrics {
  /** Starts by how they came out. */
  readonly relayStarts: { inc(labels: { outcome: 'started' | 'already_started' | 'failed' }): void };
  /** From publishing to the relay, in seconds. */
  readonly relayDelaySeconds: { observe(seconds: number): void };
  /** Age of the oldest delivery that waits for a relay. */
  readonly outboxAge?: OutboxAgeGauge;
  /** Endpoints disabled for failing, by code. */
  readonly endpointsDisabled: { inc(labels: { code: string }): void };
}

/** Steps of a relay's turn, between any two of which its process may die. */
export type RelayStep = 'after_take' | 'after_start' | 'before_mark' | 'after_mark';

/** Told of each step, and waited for. */
export type OnRelayStep = (step: RelayStep) => void | Promise<void>;

/** How long what was taken is this relay's to start, ms: many times what a batch takes. */
export const leaseMs = 30_000;

/** How long a start that got no answer stays away from all relays, ms: if it is at fault itself, others go first. */
const unansweredMs = 2_000;

/** Starts at once. */
const parallelStarts = 16;

const none: ReadonlySet<string> = new Set();

interface StartTaken {
  readonly ledger: Ledger;
  readonly client: Client;
  readonly taskQueue: string;
  readonly log: Logger;
  readonly metrics?: RelayMetrics;
  readonly onStep?: OnRelayStep;
  readonly attributes: RegisteredAttributes;
  readonly waits: RelayWaits;
  /** Aborts when the relay is to stop. */
  readonly signal: AbortSignal;
}

/**
 * Starts what was taken, and marks what was started in one statement. Where Temporal is away, or the relay is to stop, the
 * rest is given back at once, so that another relay may take it. A start that failed for its own sake keeps its lease, and is
 * tried again by whoever takes it when that is over: so it neither spins nor stops the others. One that got no answer is
 * given back for two seconds later; if it reached Temporal after all, the next one finds it started.
 *
 * @param takenAt When the lease was asked for, Unix ms.
 */
export async function startTaken(deps: StartTaken, taken: readonly TakenDelivery[], takenAt: number): Promise<void> {
  const { ledger, log, metrics, onStep, attributes, waits, signal } = deps;
  await onStep?.('after_take');
  const searchAttributes = await attributes.current();
  // Past it another relay may have the rows, so they are neither started nor given back: this process may have stood still
  // for so long that what it would start has ended and been forgotten.
  const startUntil = takenAt + leaseMs - startWithinMs;
  const started: TakenDelivery[] = [];
  const unanswered: TakenDelivery[] = [];
  const left: TakenDelivery[] = [];
  const rest = taken.values();
  let away: { readonly error: unknown } | undefined;

  const start = async (delivery: TakenDelivery): Promise<void> => {
    metrics?.relayDelaySeconds.observe(delivery.waitedMs / 1000);
    try {
      const outcome = await startDelivery({ ...deps, searchAttributes }, delivery).catch((error: unknown) => {
        if (!isRefusedStart(error) || searchAttributes.size === 0) throw error;
        attributes.distrust();
        return startDelivery({ ...deps, searchAttributes: none }, delivery);
      });
      metrics?.relayStarts.inc({ outcome });
      started.push(delivery);
      if (outcome === 'started') log.info(startedLine(delivery), 'delivery.started');
    } catch (error) {
      metrics?.relayStarts.inc({ outcome: 'failed' });
      const refused = isRefusedStart(error);
      if (!refused) unanswered.push(delivery);
      // While Temporal is away, a line for each try would say nothing that `relay.waiting` does not.
      if (refused || !waits.failed('temporal')) log.warn(failedLine(delivery, refused, error), 'relay.start_failed');
      if (!refused) away ??= { error };
      return;
    }
    await onStep?.('after_start');
  };

  const startInTurn = async (): Promise<void> => {
    for (const delivery of rest) {
      if (Date.now() > startUntil) return;
      if (away || signal.aborted) left.push(delivery);
      else await start(delivery);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallelStarts, taken.length) }, startInTurn));

  if (away) waits.note('temporal', away.error);
  else if (started.length > 0) waits.succeeded('temporal');
  await onStep?.('before_mark');
  const { query } = ledger.database;
  if (started.length > 0) {
    await markStarted(query, ledger.schema, started);
    log.debug({ deliveries: started.length }, 'relay.marked');
  }
  await onStep?.('after_mark');
  if (unanswered.length > 0) await giveBackQueued(query, ledger.schema, unanswered, unansweredMs);
  if (left.length > 0) await giveBackQueued(query, ledger.schema, left, 0);
}

function startedLine(delivery: TakenDelivery): object {
  const { publication, endpoint, eventId, type } = delivery;
  return { deliveryKey: publicationKey(delivery, sha256), publication, endpoint, eventId, type };
}

function failedLine(delivery: TakenDelivery, refused: boolean, error: unknown): object {
  const { tenant, publication, endpoint } = delivery;
  const code = refused ? 'start_refused' : 'temporal_unavailable';
  const reason = (error as { cause?: { details?: unknown } }).cause?.details ?? (error as Error)?.message;
  return { code, publication, endpoint, ...(tenant === '' ? {} : { tenant }), reason };
}
