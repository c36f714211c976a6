import { setTimeout as sleep } from 'node:timers/promises';
import type { TransactionLimits } from '../../ledger/database.js';
import { type EndedItem, endItems } from '../../ledger/replay-sets/end-items.js';
import { lockItems } from '../../ledger/replay-sets/lock-items.js';
import type { ReplaySet } from '../../ledger/replay-sets/read-set.js';
import type { OperationsContext } from '../context.js';
import { createPacer, type Pacer } from './pacer.js';
import { replayItem } from './replay-item.js';
import { type ReplayCounts, readCounts } from './set-summary.js';

/** Events replayed side by side. Each holds a connection to PostgreSQL meanwhile, and one more holds them taken. */
const replaysAtOnce = 8;

/** How long to wait before looking again whether another process has ended what it had taken, ms. */
const lookEveryMs = 500;

/** How often what other processes do to the set is counted in, ms: counting goes through the whole set. */
const recountEveryMs = 5_000;

/** Of a transaction that waits for a few replays, each of which gives Temporal half a minute. */
const limits: TransactionLimits = { statementTimeoutMs: 30_000, lockTimeoutMs: 30_000, idleTimeoutMs: 120_000 };

/** How an open set is carried on. */
export interface CarryOptions {
  /** Events per second, of this process. */
  readonly rate: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (counts: ReplayCounts) => void;
}

/**
 * Replays what is left of a set, a few events at a time. These are taken by a lock that dies with its holder, and their
 * outcomes are written before it is let go: several processes share a set, and after a crash the few that were under way are
 * asked for again under the same acts.
 *
 * @returns Whether every event has an outcome; false where the signal came first.
 * @throws What kept it from replaying an event for a reason that concerns all; outcomes known by then are written.
 */
export async function carrySet(
  context: OperationsContext,
  set: ReplaySet,
  { rate, signal, onProgress }: CarryOptions,
): Promise<boolean> {
  const pacer = createPacer(rate);
  // No longer than about a second, so that a stop is not kept waiting, and few are taken when others could have them.
  const batch = Math.max(1, Math.min(replaysAtOnce, Math.floor(rate)));
  let counts = await readCounts(context, set);
  let countedAt = performance.now();
  onProgress?.(counts);
  while (!signal?.aborted) {
    const { taken, ended, failure } = await carryBatch(context, set, batch, pacer, signal);
    counts = added(counts, ended);
    if (taken === 0 || performance.now() - countedAt > recountEveryMs) {
      counts = await readCounts(context, set);
      countedAt = performance.now();
    }
    onProgress?.(counts);
    if (failure) throw failure.reason;
    if (counts.open === 0) return true;
    // What is left is with another process, which may also have died: then it is free in a moment.
    if (taken === 0) await sleep(lookEveryMs, undefined, signal ? { signal } : {}).catch(() => {});
  }
  return false;
}

interface CarriedBatch {
  readonly taken: number;
  readonly ended: readonly EndedItem[];
  readonly failure: PromiseRejectedResult | undefined;
}

async function carryBatch(
  context: OperationsContext,
  set: ReplaySet,
  size: number,
  pacer: Pacer,
  signal: AbortSignal | undefined,
): Promise<CarriedBatch> {
  const { database, schema } = context.ledger;
  return database.transaction(async (_tx, sql) => {
    const items = await lockItems(sql, schema, set, size);
    const settled = await Promise.allSettled(
      items.map(async (item) => {
        await pacer.turn(signal);
        return signal?.aborted ? undefined : replayItem(context, set, item);
      }),
    );
    const ended = settled.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
    if (ended.length > 0) await endItems(sql, schema, set, ended);
    return { taken: items.length, ended, failure: settled.find((one) => one.status === 'rejected') };
  }, limits);
}

function added(counts: ReplayCounts, ended: readonly EndedItem[]): ReplayCounts {
  const sum = { ...counts };
  for (const { outcome } of ended) {
    sum[outcome] += 1;
    sum.open -= 1;
  }
  return sum;
}
