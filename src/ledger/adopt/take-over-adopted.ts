import { adoptedDigest } from '../../workflows/contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Gives an adopted event what only its first redelivery knows: its type, input and body, so that effects added later can be
 * replayed. What was adopted stays: its effects, that it is done, and when.
 *
 * @param event.input The workflow's input as JSON text, without the body.
 * @returns False where another redelivery was first, whose body stands.
 */
export async function takeOverAdopted(
  sql: Sql,
  schema: SchemaName,
  event: {
    readonly tenant: string;
    readonly eventKey: string;
    readonly type: string;
    readonly digest: string;
    readonly input: string;
    readonly body: Uint8Array;
  },
): Promise<boolean> {
  const { rows } = await sql<{ taken: boolean }>(
    `WITH event AS (
       UPDATE ${schema}.events SET type = $3, digest = $4, input = $5
       WHERE tenant = $1 AND event_key = $2 AND digest = '${adoptedDigest}'
       RETURNING 1
     ), body AS (
       INSERT INTO ${schema}.payloads (tenant, event_key, digest, body)
       SELECT $1, $2, $4, $6 FROM event
       ON CONFLICT DO NOTHING
     )
     SELECT EXISTS (SELECT 1 FROM event) AS taken`,
    [event.tenant, event.eventKey, event.type, event.digest, event.input, event.body],
  );
  return rows[0]?.taken === true;
}
