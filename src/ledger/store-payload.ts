import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** A body and what it is kept under. */
export interface Payload {
  readonly tenant: string;
  readonly eventKey: string;
  /** SHA-256 of the request's body, in hex: a duplicate with another body gets a row of its own. */
  readonly digest: string;
  /** The event's JSON text in UTF-8. */
  readonly body: Uint8Array;
}

/**
 * Stores a body that is too large for a workflow's input. Written once under (event, digest): a second call leaves the
 * body as it is and only renews its date, so that a redelivery does not start an event whose body is about to be swept
 * as an orphan.
 */
export async function storePayload(sql: Sql, schema: SchemaName, payload: Payload): Promise<void> {
  await sql(
    `INSERT INTO ${schema}.payloads (tenant, event_key, digest, body)
     VALUES ($1, $2, $3, $4)
     ON CONFLICT (tenant, event_key, digest) DO UPDATE SET stored_at = clock_timestamp()`,
    [payload.tenant, payload.eventKey, payload.digest, payload.body],
  );
}
