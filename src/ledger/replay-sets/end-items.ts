import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** What may have become of an event of a set. */
export const itemOutcomes = ['started', 'nothing_to_do', 'lost_race', 'refused', 'cancelled'] as const;
export type ItemOutcome = (typeof itemOutcomes)[number];

/** What became of one event of a set. */
export interface EndedItem {
  readonly position: number;
  readonly outcome: ItemOutcome;
  /** Why it was refused. */
  readonly note?: string;
}

/** Writes down what became of events of a set. What was written before stands. */
export async function endItems(
  sql: Sql,
  schema: SchemaName,
  set: { readonly tenant: string; readonly id: string },
  ended: readonly EndedItem[],
): Promise<void> {
  await sql(
    `UPDATE ${schema}.replay_set_items i
     SET outcome = ended.outcome, note = ended.note, ended_at = clock_timestamp()
     FROM unnest($3::int[], $4::text[], $5::text[]) AS ended (position, outcome, note)
     WHERE i.tenant = $1 AND i.set_id = $2 AND i.position = ended.position AND i.outcome IS NULL`,
    [
      set.tenant,
      set.id,
      ended.map(({ position }) => position),
      ended.map(({ outcome }) => outcome),
      ended.map(({ note }) => note ?? null),
    ],
  );
}
