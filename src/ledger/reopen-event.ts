import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Takes a recorded event up again: adds effects it did not have, and lifts `dead_lettered`, or, for a replay,
 * `abandoned`. An event that is done and gains no effect stays done.
 */
export async function reopenEvent(
  sql: Sql,
  schema: SchemaName,
  event: {
    readonly tenant: string;
    readonly eventKey: string;
    readonly added: readonly { readonly effect: string; readonly businessKey: string }[];
    readonly liftAbandoned: boolean;
  },
): Promise<void> {
  await sql(
    `WITH added AS (
       INSERT INTO ${schema}.event_effects (tenant, event_key, effect, business_key)
       SELECT $1, $2, planned.effect, planned.business_key
       FROM unnest($3::text[], $4::text[]) AS planned (effect, business_key)
       ON CONFLICT DO NOTHING
       RETURNING 1
     )
     UPDATE ${schema}.events
     SET remaining = remaining + (SELECT count(*) FROM added),
         state = CASE WHEN remaining + (SELECT count(*) FROM added) = 0 AND state <> 'abandoned' THEN 'done' ELSE 'open' END,
         ended_at = CASE WHEN remaining + (SELECT count(*) FROM added) = 0 THEN ended_at END,
         abandoned_by = NULL, abandoned_reason = NULL
     WHERE tenant = $1 AND event_key = $2 AND (state <> 'abandoned' OR $5)`,
    [
      event.tenant,
      event.eventKey,
      event.added.map(({ effect }) => effect),
      event.added.map(({ businessKey }) => businessKey),
      event.liftAbandoned,
    ],
  );
}
