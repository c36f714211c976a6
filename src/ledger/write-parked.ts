import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';
import { storableText } from './storable-text.js';
import type { DeadLetter } from './write-dead-letter.js';

/**
 * Puts an event that waits for a person among the dead letters, while it stays open: in the entry that it has, or a new
 * one. An entry of the kind is brought up to date, since another effect of the event may have parked or failed meanwhile.
 *
 * @returns Whether this call opened it, or turned an entry of another kind into it.
 */
export async function writeParked(
  sql: Sql,
  schema: SchemaName,
  letter: Omit<DeadLetter, 'body' | 'runId' | 'digest' | 'receivedAt'>,
): Promise<boolean> {
  const { rows } = await sql<{ opened: boolean }>(
    `WITH parked AS (
       SELECT 1 FROM ${schema}.dead_letters WHERE tenant = $1 AND event_key = $2 AND closed_at IS NULL AND parked
     ), written AS (
       INSERT INTO ${schema}.dead_letters AS l
         (tenant, event_key, source, event_id, type, code, message, input, effects, runs, parked)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, '{}', true
       WHERE EXISTS (SELECT 1 FROM ${schema}.events WHERE tenant = $1 AND event_key = $2 AND state NOT IN ('done', 'abandoned'))
       ON CONFLICT (tenant, event_key) WHERE closed_at IS NULL DO UPDATE
         SET code = EXCLUDED.code, message = EXCLUDED.message, effects = EXCLUDED.effects, parked = true,
             last_at = clock_timestamp()
       RETURNING 1
     )
     SELECT EXISTS (SELECT 1 FROM written) AND NOT EXISTS (SELECT 1 FROM parked) AS opened`,
    [
      letter.tenant,
      storableText(letter.eventKey),
      letter.source,
      storableText(letter.id),
      letter.type,
      storableText(letter.code),
      storableText(letter.message),
      letter.input,
      letter.effects,
    ],
  );
  return rows[0]?.opened === true;
}
