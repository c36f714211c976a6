import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Deletes a body whose event is not recorded, unless a redelivery has renewed it or its event was recorded meanwhile.
 *
 * @returns Whether it was deleted.
 */
export async function deleteUnclaimedPayload(
  sql: Sql,
  schema: SchemaName,
  payload: {
    readonly tenant: string;
    readonly eventKey: string;
    readonly digest: string;
    /** Only a body stored before this. */
    readonly before: Date;
  },
): Promise<boolean> {
  const { rowCount } = await sql(
    `DELETE FROM ${schema}.payloads p
     WHERE p.tenant = $1 AND p.event_key = $2 AND p.digest = $3 AND p.stored_at < $4
       AND NOT EXISTS (SELECT 1 FROM ${schema}.events e WHERE e.tenant = p.tenant AND e.event_key = p.event_key)`,
    [payload.tenant, payload.eventKey, payload.digest, payload.before],
  );
  return rowCount === 1;
}
