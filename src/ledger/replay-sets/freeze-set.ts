import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type ReplaySelection, replayConditions } from './replay-selection.js';

/** A set that is about to be frozen. */
export interface NewReplaySet {
  readonly id: string;
  /** JSON, for people. */
  readonly filter: string;
  readonly effect?: string;
  /** Events per second. */
  readonly rate: number;
  /** Of so many events at most, those received first. */
  readonly limit: number;
}

/**
 * Writes down which events a selection has at this moment, in the order in which they were received. What the selection
 * would take in later is not in the set.
 *
 * @returns How many there are.
 */
export async function freezeSet(
  sql: Sql,
  schema: SchemaName,
  selection: ReplaySelection,
  { id, filter, effect, rate, limit }: NewReplaySet,
): Promise<number> {
  const { where, values } = replayConditions(schema, selection);
  const next = (offset: number): string => `$${values.length + offset}`;
  const { rows } = await sql<{ size: number }>(
    `WITH chosen AS (
       SELECT e.event_key, e.source || '/' || e.event_id AS event,
              row_number() OVER (ORDER BY e.received_at, e.event_key) AS position
       FROM ${schema}.events e
       WHERE ${where}
       ORDER BY e.received_at, e.event_key
       LIMIT ${next(6)}
     ), items AS (
       INSERT INTO ${schema}.replay_set_items (tenant, set_id, position, event_key, event)
       SELECT ${next(1)}::text, ${next(2)}::text, position, event_key, event FROM chosen
     )
     INSERT INTO ${schema}.replay_sets (tenant, id, filter, effect, size, rate)
     SELECT ${next(1)}::text, ${next(2)}::text, ${next(3)}::text, ${next(4)}::text, count(*), ${next(5)}::numeric FROM chosen
     RETURNING size`,
    [...values, selection.tenant, id, filter, effect ?? null, rate, limit],
  );
  return rows[0]?.size ?? 0;
}
