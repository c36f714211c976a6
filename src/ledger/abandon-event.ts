import type { Sql } from './database.js';
import { genuineIdentity } from './genuine-identity.js';
import type { PlanRecord } from './record-plan.js';
import type { SchemaName } from './schema-name.js';
import { storableText } from './storable-text.js';

/**
 * Records that a person gave the event up, and ends its open dead letter, all or nothing. An event that is done stays
 * done: there is nothing to abandon. Waits for a completion that is just committing, and holds the event's row until the
 * transaction ends, so that what the ledger says of the effects afterwards is what stays.
 *
 * @returns Whether the event is abandoned now.
 */
export async function abandonEvent(
  sql: Sql,
  schema: SchemaName,
  event: Omit<PlanRecord, 'effects' | 'body'> & {
    readonly by: string;
    readonly reason: string;
    /** The event's JSON text where no plan has stored it yet: a replay may need it when the history is gone. */
    readonly body: Uint8Array | undefined;
  },
): Promise<boolean> {
  const { rows } = await sql<{ abandoned: boolean }>(
    `WITH event AS (
       INSERT INTO ${schema}.events AS e
         (tenant, event_key, source, event_id, type, digest, input, received_at, remaining, state, ended_at,
          abandoned_by, abandoned_reason)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 'abandoned', clock_timestamp(), $9, $10)
       ON CONFLICT (tenant, event_key) DO UPDATE
         SET state = 'abandoned', ended_at = clock_timestamp(), abandoned_by = $9, abandoned_reason = $10,
             ${genuineIdentity}
         WHERE e.state <> 'done'
       RETURNING 1
     ), body AS (
       INSERT INTO ${schema}.payloads (tenant, event_key, digest, body)
       SELECT $1, $2, $6, $11 FROM event WHERE $11::bytea IS NOT NULL
       ON CONFLICT DO NOTHING
     ), closed AS (
       UPDATE ${schema}.dead_letters SET closed_at = clock_timestamp(), closed_by = 'abandon'
       WHERE tenant = $1 AND event_key = $2 AND closed_at IS NULL AND EXISTS (SELECT 1 FROM event)
     )
     SELECT EXISTS (SELECT 1 FROM event) AS abandoned`,
    [
      event.tenant,
      storableText(event.eventKey),
      event.source,
      storableText(event.id),
      event.type,
      event.digest,
      event.input,
      event.receivedAt,
      storableText(event.by),
      storableText(event.reason),
      event.body ?? null,
    ],
  );
  return rows[0]?.abandoned === true;
}
