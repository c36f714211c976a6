import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { deleteOldDeliveries } from '../ledger/delete-old-deliveries.js';
import { deleteOldMarks } from '../ledger/delete-old-marks.js';
import { deleteUnclaimedPayload } from '../ledger/delete-unclaimed-payload.js';
import type { Ledger } from '../ledger/ledger.js';
import { listUnclaimedPayloads, type UnclaimedPayload } from '../ledger/list-unclaimed-payloads.js';
import { deleteOldRejected } from '../ledger/rejected/delete-old-rejected.js';
import { deleteOldRejectedCounts } from '../ledger/rejected/delete-old-rejected-counts.js';
import { forgetRejectedBodies } from '../ledger/rejected/forget-rejected-bodies.js';
import { moveSweepCursor, readSweepCursor } from '../ledger/sweep-cursor.js';

const dayMs = 24 * 3_600_000;

/** Between storing a body and starting its event lie milliseconds; a day also outlasts a provider's quick retries. */
const orphanAfterMs = dayMs;

/** Whoever reads a mark does so within the workflow task that its local activity belongs to. */
const markKeptMs = dayMs;

/** Longer than providers redeliver (Stripe three days, Shopify two) and than a dispute over a delivery stays warm. */
const deliveryKeptMs = 90 * dayMs;

/** Long enough to see that somebody's integration has been failing for weeks. */
const rejectedKeptMs = 30 * dayMs;

/** Rows of one statement: each is over well within the timeout of a query. */
const batchRows = 1000;

/** Bodies asked about in one go; each that has no record costs a call to Temporal. */
const orphanBatch = 100;

/** Batches of each kind in one sweep; the next one goes on where this one stopped. */
const maximumBatches = 20;

const cursorName = 'unclaimed_payloads';

/** What a sweep needs. */
export interface SweepLedgerDependencies {
  readonly ledger: Ledger;
  readonly client: Client;
  /** Called between batches. */
  readonly progress: () => void;
}

/** Rows deleted. */
export interface SweptLedger {
  readonly payloads: number;
  readonly marks: number;
  readonly deliveries: number;
  /** Samples of refused requests, and their counts. */
  readonly rejected: number;
  /** Kept bodies of samples, whose rows stay. */
  readonly rejectedBodies: number;
}

/**
 * Deletes what the ledger need not keep: bodies whose event was never started, marks, the evidence of old deliveries
 * and of refused requests. Completions, events, recorded bodies and dead letters stay.
 */
export async function sweepLedger(deps: SweepLedgerDependencies): Promise<SweptLedger> {
  const { ledger, progress } = deps;
  const { query } = ledger.database;
  const now = Date.now();
  const before = (keptMs: number): Date => new Date(now - keptMs);
  return {
    deliveries: await inBatches(progress, (limit) =>
      deleteOldDeliveries(query, ledger.schema, { before: before(deliveryKeptMs), limit }),
    ),
    marks: await inBatches(progress, (limit) =>
      deleteOldMarks(query, ledger.schema, { before: before(markKeptMs), limit }),
    ),
    rejectedBodies: await inBatches(progress, (limit) =>
      forgetRejectedBodies(query, ledger.schema, { before: before(0), limit }),
    ),
    rejected:
      (await inBatches(progress, (limit) =>
        deleteOldRejected(query, ledger.schema, { before: before(rejectedKeptMs), limit }),
      )) +
      (await inBatches(progress, (limit) =>
        deleteOldRejectedCounts(query, ledger.schema, { before: before(rejectedKeptMs), limit }),
      )),
    payloads: await sweepOrphans(deps, before(orphanAfterMs)),
  };
}

async function inBatches(progress: () => void, deleteBatch: (limit: number) => Promise<number>): Promise<number> {
  let deleted = 0;
  for (let batch = 0; batch < maximumBatches; batch++) {
    progress();
    const rows = await deleteBatch(batchRows);
    deleted += rows;
    if (rows < batchRows) break;
  }
  return deleted;
}

/** Looks at each body once, when it is a day old: by then its event has a record, or waits for its plan, or never was. */
async function sweepOrphans(deps: SweepLedgerDependencies, before: Date): Promise<number> {
  const { query } = deps.ledger.database;
  const { schema } = deps.ledger;
  let from = (await readSweepCursor(query, schema, cursorName)) ?? new Date(0);
  let deleted = 0;
  for (let batch = 0; batch < maximumBatches; batch++) {
    const found = await listUnclaimedPayloads(query, schema, { from, before, limit: orphanBatch });
    for (const payload of found) {
      deps.progress();
      if (await isKnown(deps.client, payload)) continue;
      if (await deleteUnclaimedPayload(query, schema, { ...payload, before })) deleted += 1;
    }
    // Cut to a millisecond it lies at or before the last row, which is so looked at twice rather than never.
    from = found.length < orphanBatch ? before : (found.at(-1)?.storedAt ?? before);
    await moveSweepCursor(query, schema, cursorName, from);
    if (found.length < orphanBatch) break;
  }
  return deleted;
}

/** An event that waits for its plan has no record yet, and one that was terminated before it may still be replayed. */
async function isKnown(client: Client, { eventKey }: UnclaimedPayload): Promise<boolean> {
  try {
    await client.workflow.getHandle(eventKey).describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
