import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Reads a stored body by event and digest.
 *
 * @returns The event's JSON text in UTF-8, or undefined where the ledger holds none (or no longer).
 */
export async function readPayload(
  sql: Sql,
  schema: SchemaName,
  key: { readonly tenant: string; readonly eventKey: string; readonly digest: string },
): Promise<Uint8Array | undefined> {
  const { rows } = await sql<{ body: Uint8Array }>(
    `SELECT body FROM ${schema}.payloads WHERE tenant = $1 AND event_key = $2 AND digest = $3`,
    [key.tenant, key.eventKey, key.digest],
  );
  return rows[0]?.body;
}
