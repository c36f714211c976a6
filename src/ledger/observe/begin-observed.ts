import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Takes up effects of an event that were only observed, now that a person wants them done: they have not ended any more, and
 * the event is open until they have. Each counts once, however often it is asked for.
 *
 * @param event.effects By the names that the plan recorded.
 * @returns Whether there were any.
 */
export async function beginObserved(
  sql: Sql,
  schema: SchemaName,
  event: { readonly tenant: string; readonly eventKey: string; readonly effects: readonly string[] },
): Promise<boolean> {
  const { rows } = await sql<{ begun: boolean }>(
    `WITH begun AS (
       UPDATE ${schema}.event_effects SET outcome = NULL, ended_at = NULL
       WHERE tenant = $1 AND event_key = $2 AND effect = ANY($3) AND outcome = 'observed'
       RETURNING 1
     ), event AS (
       UPDATE ${schema}.events
       SET remaining = remaining + (SELECT count(*) FROM begun),
           state = CASE WHEN state = 'done' THEN 'open' ELSE state END,
           ended_at = CASE WHEN state = 'done' THEN NULL ELSE ended_at END
       WHERE tenant = $1 AND event_key = $2 AND EXISTS (SELECT 1 FROM begun)
     )
     SELECT EXISTS (SELECT 1 FROM begun) AS begun`,
    [event.tenant, event.eventKey, event.effects],
  );
  return rows[0]?.begun === true;
}
