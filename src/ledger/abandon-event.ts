import type { Sql } from './database.js';
import type { PlanRecord } from './record-plan.js';
import type { SchemaName } from './schema-name.js';
import { storableText } from './storable-text.js';

/**
 * Records that a person gave the event up, with the act and the end of its open dead letter, all or nothing. An event
 * that is done stays done: there is nothing to abandon.
 *
 * @returns Whether the event is abandoned now.
 */
export async function abandonEvent(
  sql: Sql,
  schema: SchemaName,
  event: Omit<PlanRecord, 'effects' | 'body'> & {
    readonly act: string;
    readonly by: string;
    readonly reason: string;
    readonly seen: string;
  },
): Promise<boolean> {
  const { rows } = await sql<{ abandoned: boolean }>(
    `WITH event AS (
       INSERT INTO ${schema}.events AS e
         (tenant, event_key, source, event_id, type, digest, input, received_at, remaining, state, ended_at,
          abandoned_by, abandoned_reason)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 'abandoned', clock_timestamp(), $10, $11)
       ON CONFLICT (tenant, event_key) DO UPDATE
         SET state = 'abandoned', ended_at = clock_timestamp(), abandoned_by = $10, abandoned_reason = $11
         WHERE e.state <> 'done'
       RETURNING 1
     ), act AS (
       INSERT INTO ${schema}.acts (tenant, id, kind, event_key, actor, reason, seen, outcome)
       SELECT $1, $9, 'abandon', $2, $10, $11, $12, 'abandoned' FROM event
       ON CONFLICT DO NOTHING
     ), closed AS (
       UPDATE ${schema}.dead_letters SET closed_at = clock_timestamp(), closed_by = 'abandon'
       WHERE tenant = $1 AND event_key = $2 AND closed_at IS NULL AND EXISTS (SELECT 1 FROM event)
     )
     SELECT EXISTS (SELECT 1 FROM event) AS abandoned`,
    [
      event.tenant,
      event.eventKey,
      event.source,
      event.id,
      event.type,
      event.digest,
      event.input,
      event.receivedAt,
      event.act,
      storableText(event.by),
      storableText(event.reason),
      event.seen,
    ],
  );
  return rows[0]?.abandoned === true;
}
