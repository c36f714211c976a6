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
  readonly effects: readonly PlannedKey[];
}

/** One effect of a plan. */
export interface PlannedKey {
  readonly effect: string;
  readonly businessKey: string;
  /** It only looks, and so has ended. */
  readonly observed?: boolean;
}

/**
 * Records an event, its body and the business keys of its effects, all or nothing, unless the event is recorded already.
 * What a run with a malformed input left is no record: its dead letter has the event's key, and neither its body nor its
 * effects, and a genuine delivery must not be bound to it. Nor is a plan what was kept of an event that no effect wanted.
 *
 * @returns Whether this call recorded it. False means that an earlier plan stands and must be read.
 */
export async function recordPlan(sql: Sql, schema: SchemaName, plan: PlanRecord): Promise<boolean> {
  const { rows } = await sql<{ recorded: boolean }>(
    `WITH event AS (
       INSERT INTO ${schema}.events AS e (tenant, event_key, source, event_id, type, digest, input, received_at, remaining,
         state, ended_at)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, live.count,
              CASE WHEN live.count = 0 THEN 'done' ELSE 'open' END, CASE WHEN live.count = 0 THEN clock_timestamp() END
       FROM (SELECT count(*)::integer FROM unnest($12::boolean[]) AS observed WHERE NOT observed) AS live
       ON CONFLICT (tenant, event_key) DO UPDATE
         SET source = EXCLUDED.source, event_id = EXCLUDED.event_id, type = EXCLUDED.type, digest = EXCLUDED.digest,
             input = EXCLUDED.input, received_at = EXCLUDED.received_at, remaining = EXCLUDED.remaining,
             state = EXCLUDED.state, ended_at = EXCLUDED.ended_at
         WHERE e.digest = '${unknownDigest}' OR e.state = 'ignored'
       RETURNING 1
     ), body AS (
       INSERT INTO ${schema}.payloads (tenant, event_key, digest, body)
       SELECT $1, $2, $6, $9 FROM event
       ON CONFLICT DO NOTHING
     ), keys AS (
       INSERT INTO ${schema}.event_effects (tenant, event_key, effect, business_key, outcome, ended_at)
       SELECT $1, $2, planned.effect, planned.business_key,
              CASE WHEN planned.observed THEN 'observed' END, CASE WHEN planned.observed THEN clock_timestamp() END
       FROM event, unnest($10::text[], $11::text[], $12::boolean[]) AS planned (effect, business_key, observed)
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
      plan.effects.map(({ observed }) => observed === true),
    ],
  );
  return rows[0]?.recorded === true;
}
