import { unknownDigest } from '../workflows/contract.js';
import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** What the first plan of an event writes. */
export interface PlanRecord {
  readonly tenant: string;
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly digest: string;
  /** The workflow's input as JSON text, without the body. */
  readonly input: string;
  readonly receivedAt: string;
  /** The event's JSON text. */
  readonly body: Uint8Array;
  readonly effects: readonly { readonly effect: string; readonly businessKey: string }[];
}

/**
 * Records an event, its body and the business keys of its effects, all or nothing, unless the event is recorded already.
 * What a run with a malformed input left is no record: its dead letter has the event's key, and neither its body nor its
 * effects, and a genuine delivery must not be bound to it.
 *
 * @returns Whether this call recorded it. False means that an earlier plan stands and must be read.
 */
export async function recordPlan(sql: Sql, schema: SchemaName, plan: PlanRecord): Promise<boolean> {
  const { rows } = await sql<{ recorded: boolean }>(
    `WITH event AS (
       INSERT INTO ${schema}.events AS e (tenant, event_key, source, event_id, type, digest, input, received_at, remaining)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, cardinality($10::text[]))
       ON CONFLICT (tenant, event_key) DO UPDATE
         SET source = EXCLUDED.source, event_id = EXCLUDED.event_id, type = EXCLUDED.type, digest = EXCLUDED.digest,
             input = EXCLUDED.input, received_at = EXCLUDED.received_at, remaining = EXCLUDED.remaining,
             state = 'open', ended_at = NULL
         WHERE e.digest = '${unknownDigest}'
       RETURNING 1
     ), body AS (
       INSERT INTO ${schema}.payloads (tenant, event_key, digest, body)
       SELECT $1, $2, $6, $9 FROM event
       ON CONFLICT DO NOTHING
     ), keys AS (
       INSERT INTO ${schema}.event_effects (tenant, event_key, effect, business_key)
       SELECT $1, $2, planned.effect, planned.business_key
       FROM event, unnest($10::text[], $11::text[]) AS planned (effect, business_key)
     )
     SELECT EXISTS (SELECT 1 FROM event) AS recorded`,
    [
      plan.tenant,
      plan.eventKey,
      plan.source,
      plan.id,
      plan.type,
      plan.digest,
      plan.input,
      plan.receivedAt,
      plan.body,
      plan.effects.map(({ effect }) => effect),
      plan.effects.map(({ businessKey }) => businessKey),
    ],
  );
  return rows[0]?.recorded === true;
}
