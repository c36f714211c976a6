import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** An event that no effect subscribes to. */
export interface IgnoredEvent {
  readonly tenant: string;
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly digest: string;
  /** What a workflow of the event would be started with, as JSON text without the body. */
  readonly input: string;
  readonly receivedAt: string;
  /** The event's JSON text in UTF-8. */
  readonly body: Uint8Array;
}

/**
 * Records an event as ignored, and its body, unless the event is recorded already: what stands there, of an earlier
 * delivery or of a time when an effect did subscribe, stays as it is. The first plan of the event takes the row over.
 *
 * @returns The digest that the event is recorded with.
 */
export async function recordIgnored(
  sql: Sql,
  schema: SchemaName,
  event: IgnoredEvent,
): Promise<{ readonly digest: string }> {
  const { rows } = await sql<{ digest: string }>(
    `WITH event AS (
       INSERT INTO ${schema}.events
         (tenant, event_key, source, event_id, type, digest, input, received_at, state, remaining)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'ignored', 0)
       ON CONFLICT (tenant, event_key) DO NOTHING
       RETURNING digest
     ), body AS (
       INSERT INTO ${schema}.payloads (tenant, event_key, digest, body)
       SELECT $1, $2, $6, $9 FROM event
       ON CONFLICT DO NOTHING
     )
     SELECT digest FROM event
     UNION ALL
     SELECT digest FROM ${schema}.events WHERE tenant = $1 AND event_key = $2`,
    [
      event.tenant,
      event.eventKey,
      event.source,
      event.id,
      event.type,
      event.digest,
      event.input,
      event.receivedAt,
      event.body,
    ],
  );
  // Neither is seen where a delivery at the same moment recorded it: nothing is known of its body then.
  return { digest: rows[0]?.digest ?? event.digest };
}
