import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** A body whose event the ledger has no record of. */
export interface UnclaimedPayload {
  readonly tenant: string;
  readonly eventKey: string;
  readonly digest: string;
  readonly storedAt: Date;
}

/**
 * Lists bodies stored in a stretch of time whose event is not recorded, oldest first: orphans, or bodies of events that
 * wait for their plan.
 */
export async function listUnclaimedPayloads(
  sql: Sql,
  schema: SchemaName,
  range: { readonly from: Date; readonly before: Date; readonly limit: number },
): Promise<readonly UnclaimedPayload[]> {
  const { rows } = await sql<UnclaimedPayload>(
    `SELECT p.tenant, p.event_key AS "eventKey", p.digest, p.stored_at AS "storedAt"
     FROM ${schema}.payloads p
     WHERE p.stored_at >= $1 AND p.stored_at < $2
       AND NOT EXISTS (SELECT 1 FROM ${schema}.events e WHERE e.tenant = p.tenant AND e.event_key = p.event_key)
     ORDER BY p.stored_at LIMIT $3`,
    [range.from, range.before, range.limit],
  );
  return rows;
}
