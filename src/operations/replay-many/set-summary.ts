import { countItems } from '../../ledger/replay-sets/count-items.js';
import { type ItemOutcome, itemOutcomes } from '../../ledger/replay-sets/end-items.js';
import { listRefused, type RefusedItem } from '../../ledger/replay-sets/list-refused.js';
import type { ReplaySet } from '../../ledger/replay-sets/read-set.js';
import type { OperationsContext } from '../context.js';

/** Events of a set by what became of them; `open` have not been asked for. */
export type ReplayCounts = Readonly<Record<ItemOutcome | 'open', number>>;

/** A set, and how far it has come. */
export interface SetSummary extends ReplaySet {
  readonly counts: ReplayCounts;
  /** The first of those that were refused. */
  readonly refusals: readonly RefusedItem[];
}

/** A list of every refusal could be as long as the set. */
const refusalsKept = 20;

/** Reads how far a set has come. */
export async function summarizeSet({ ledger }: OperationsContext, set: ReplaySet): Promise<SetSummary> {
  const { query } = ledger.database;
  const [counts, refusals] = await Promise.all([
    readCounts({ ledger }, set),
    listRefused(query, ledger.schema, set, refusalsKept),
  ]);
  return { ...set, counts, refusals };
}

/** Counts the events of a set by outcome. */
export async function readCounts(
  { ledger }: Pick<OperationsContext, 'ledger'>,
  set: { readonly tenant: string; readonly id: string },
): Promise<ReplayCounts> {
  const counted = await countItems(ledger.database.query, ledger.schema, set);
  const named = itemOutcomes.map((outcome) => [outcome, counted.get(outcome) ?? 0] as const);
  return { ...(Object.fromEntries(named) as Record<ItemOutcome, number>), open: counted.get('') ?? 0 };
}
