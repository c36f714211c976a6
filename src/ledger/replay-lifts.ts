import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Whether a replay lifts the abandonment of its event: not where the event was abandoned after the replay was asked for.
 * A reset runs the input of a replay again, and a person's later decision stands.
 */
export async function replayLifts(
  sql: Sql,
  schema: SchemaName,
  replay: { readonly tenant: string; readonly eventKey: string; readonly id: string },
): Promise<boolean> {
  const { rows } = await sql<{ lifts: boolean }>(
    `SELECT NOT EXISTS (
       SELECT 1 FROM ${schema}.acts AS abandon JOIN ${schema}.acts AS replay USING (tenant, event_key)
       WHERE tenant = $1 AND event_key = $2 AND replay.id = $3 AND abandon.kind = 'abandon' AND abandon.at > replay.at
     ) AS lifts`,
    [replay.tenant, replay.eventKey, replay.id],
  );
  return rows[0]?.lifts !== false;
}
