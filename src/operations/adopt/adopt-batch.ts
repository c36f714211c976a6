import { sqlState } from '../../effects/classify-failure.js';
import { adoptClaims } from '../../ledger/adopt/adopt-claims.js';
import { adoptEventEffects, adoptEvents, type EndedEvent } from '../../ledger/adopt/adopt-events.js';
import { type AdoptedRow, adoptedEvent } from '../../ledger/adopt/adopted-row.js';
import { planEachTime } from '../../ledger/adopt/plan-each-time.js';
import { type Adoptable, readAdoptable } from '../../ledger/adopt/read-adoptable.js';
import type { Sql, TransactionLimits } from '../../ledger/database.js';
import type { Ledger } from '../../ledger/ledger.js';
import type { AdoptPlan } from './adopt-options.js';

/** What came of one row. */
export type RowOutcome = 'adopted' | 'already_there' | { readonly conflict: string };

/** A local write that is under way is waited for, which mostly takes less than its default timeout of 30 seconds. */
const limits: TransactionLimits = { statementTimeoutMs: 60_000, lockTimeoutMs: 40_000, idleTimeoutMs: 60_000 };

/** Tries of a batch that met others' locks. */
const tries = 3;

/** serialization_failure, deadlock_detected, lock_not_available */
const metLocks: ReadonlySet<string | undefined> = new Set(['40001', '40P01', '55P03']);

/**
 * Writes one batch, all or nothing: first the claims, whose uniqueness decides between this and any attempt, then the events
 * that they are of.
 *
 * @returns What came of each row, in the order given.
 */
export async function adoptBatch(
  { database, schema }: Ledger,
  plan: AdoptPlan,
  rows: readonly AdoptedRow[],
): Promise<readonly RowOutcome[]> {
  // Sorted, as are the events below: what two transactions both want they then want in the same order.
  const order = rows.map((_row, place) => place).sort((left, right) => compare(keyOf(rows, left), keyOf(rows, right)));
  const sorted = order.map((place) => rows[place] as AdoptedRow);
  for (let left = tries - 1; ; left--) {
    try {
      const outcomes = await database.transaction((_tx, sql) => write(sql, schema, plan, sorted), limits);
      const places = new Map(order.map((place, index) => [place, outcomes[index] as RowOutcome]));
      return rows.map((_row, place) => places.get(place) as RowOutcome);
    } catch (error) {
      if (left === 0 || !metLocks.has(sqlState(error))) throw error;
    }
  }
}

/** Says what {@link adoptBatch} would come to now, and changes nothing. */
export async function lookAtBatch(
  { database, schema }: Ledger,
  plan: AdoptPlan,
  rows: readonly AdoptedRow[],
): Promise<readonly RowOutcome[]> {
  const found = await readAdoptable(database.query, schema, plan.names, rows);
  return rows.map((row, place) => {
    const seen = found[place] as Adoptable;
    const conflict = conflictOf(row, seen);
    if (conflict !== undefined) return { conflict };
    return seen.claim === undefined || isToRecord(row, seen) ? 'adopted' : 'already_there';
  });
}

async function write(
  sql: Sql,
  schema: Ledger['schema'],
  { ledgerName: effect, names, act }: AdoptPlan,
  rows: readonly AdoptedRow[],
): Promise<readonly RowOutcome[]> {
  await planEachTime(sql);
  const before = await readAdoptable(sql, schema, names, rows);
  // Only its key is judged by now: whatever holds a claim may be just letting it go.
  const ownKeys = rows.flatMap((row, place) => (planConflict(row, before[place] as Adoptable) ? [] : [place]));
  const written = await adoptClaims(
    sql,
    schema,
    { effect, names, act: act.id },
    ownKeys.map((place) => rows[place] as AdoptedRow),
  );
  const claimed = new Set([...written].map((index) => ownKeys[index]));
  const after = await readAdoptable(sql, schema, names, rows);
  const ended = rows.flatMap((row, place): EndedEvent[] => {
    const { event, businessKey, doneAt, tenant } = row;
    const seen = after[place] as Adoptable;
    if (!event || conflictOf(row, seen) !== undefined || !isToRecord(row, seen)) return [];
    const own = seen.claim?.eventKey === event.eventKey;
    return [{ tenant, event, businessKey, doneAt, outcome: own ? 'done' : 'already_done' }];
  });
  ended.sort((left, right) => compare(nameOf(left), nameOf(right)));
  const recorded = await adoptEvents(sql, schema, ended);
  const completed = await adoptEventEffects(sql, schema, { effect, names }, ended, recorded);
  const keys = new Set(completed.map(([tenant, eventKey]) => JSON.stringify([tenant, eventKey])));
  return rows.map((row, place) => {
    const conflict = conflictOf(row, after[place] as Adoptable);
    if (conflict !== undefined) return { conflict };
    const isNew = row.event !== undefined && keys.has(JSON.stringify([row.tenant, row.event.eventKey]));
    return claimed.has(place) || isNew ? 'adopted' : 'already_there';
  });
}

function isToRecord({ event }: AdoptedRow, { record }: Adoptable): boolean {
  return event !== undefined && ['absent', 'other_effects', 'observed'].includes(record);
}

/** Why a row cannot be adopted next to what the ledger has; undefined where it can, or need not be. */
function conflictOf(row: AdoptedRow, seen: Adoptable): string | undefined {
  const { claim } = seen;
  if (claim && claim.state !== 'done') {
    return `the ledger has ${JSON.stringify(row.businessKey)} as ${claim.state}, for ${claim.event}: it stands`;
  }
  return planConflict(row, seen);
}

/** Adopted under another key than its event was planned with, it would never be found by that event. */
function planConflict({ businessKey, event }: AdoptedRow, { plannedKey }: Adoptable): string | undefined {
  if (plannedKey === undefined || plannedKey === businessKey) return undefined;
  return `${event?.source}/${event?.id} was planned as ${JSON.stringify(plannedKey)}, and the row says ${JSON.stringify(businessKey)}`;
}

function keyOf(rows: readonly AdoptedRow[], place: number): readonly string[] {
  const { tenant, businessKey, event } = rows[place] as AdoptedRow;
  return [tenant, businessKey, event?.eventKey ?? adoptedEvent];
}

function nameOf({ tenant, event }: EndedEvent): readonly string[] {
  return [tenant, event.eventKey];
}

function compare(left: readonly string[], right: readonly string[]): number {
  for (const [index, one] of left.entries()) {
    const other = right[index] ?? '';
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}
