import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { columnsOf, type TracedKey } from './traced-key.js';

/** An event as the ledger has it, one row for each of its effects; those columns are null where it has none. */
export interface TracedEventRow {
  readonly tenant: string;
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly digest: string;
  readonly state: 'open' | 'done' | 'dead_lettered' | 'abandoned' | 'ignored';
  readonly remaining: number;
  readonly receivedAt: Date;
  readonly recordedAt: Date;
  readonly endedAt: Date | null;
  readonly abandonedBy: string | null;
  readonly abandonedReason: string | null;
  readonly effect: string | null;
  readonly businessKey: string;
  readonly outcome: 'done' | 'already_done' | 'stale' | 'observed' | null;
  readonly completedAs: string | null;
  readonly effectEndedAt: Date | null;
}

/** Reads events with the effects that their plans recorded, by their keys. */
export async function readEvents(
  sql: Sql,
  schema: SchemaName,
  keys: readonly TracedKey[],
): Promise<readonly TracedEventRow[]> {
  const { rows } = await sql<TracedEventRow>(
    `SELECT e.tenant, e.event_key AS "eventKey", e.source, e.event_id AS id, e.type, e.digest, e.state, e.remaining,
            e.received_at AS "receivedAt", e.recorded_at AS "recordedAt", e.ended_at AS "endedAt",
            e.abandoned_by AS "abandonedBy", e.abandoned_reason AS "abandonedReason",
            k.effect, k.business_key AS "businessKey", k.outcome, k.completed_as AS "completedAs",
            k.ended_at AS "effectEndedAt"
     FROM unnest($1::text[], $2::text[]) AS asked (tenant, event_key)
     JOIN ${schema}.events e USING (tenant, event_key)
     LEFT JOIN ${schema}.event_effects k USING (tenant, event_key)
     ORDER BY e.received_at, e.event_key, k.effect`,
    columnsOf(keys),
  );
  return rows;
}
