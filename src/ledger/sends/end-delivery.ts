import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { storableText } from '../storable-text.js';

/** How a delivery ended without being delivered, and all that a person needs to judge it. */
export interface EndDelivery extends DeliveryRef {
  /** The workflow ID. */
  readonly deliveryKey: string;
  readonly eventId: string;
  readonly type: string;
  readonly runId: string;
  /** JSON text. */
  readonly input: string;
  readonly outcome: 'dead_lettered' | 'abandoned';
  readonly code: string;
  readonly message: string;
  /** JSON text: the reason of every attempt. */
  readonly reasons: string;
  /** Who gave it up, and why. */
  readonly by?: string;
  readonly reason?: string;
}

/** What became of the wish to end it. */
export interface EndedDelivery {
  /** This call wrote something; false where it was written before, or nothing was to be. */
  readonly changed: boolean;
  /** It was delivered: there is nothing to end. */
  readonly delivered: boolean;
}

/**
 * Ends a delivery that was not delivered: opens its dead letter, or counts another run in the open one; or notes who gave
 * it up, and closes it. What is delivered stays so, and only a replay lifts what was abandoned. An attempt without an end is
 * of unknown outcome from here on. Writing the same end again for the same run changes nothing.
 *
 * A delivery that the ledger does not have gets its dead letter all the same: someone started its workflow by hand.
 */
export async function endDelivery(sql: Sql, schema: SchemaName, end: EndDelivery): Promise<EndedDelivery> {
  const { rows } = await sql<EndedDelivery>(
    `WITH delivery AS MATERIALIZED (
       SELECT d.state FROM ${schema}.publication_deliveries d
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3
       FOR UPDATE OF d
     ), judged AS MATERIALIZED (
       SELECT coalesce(d.state NOT IN ('delivered', 'abandoned'), true) AS ends, d.state = 'delivered' AS delivered
       FROM (SELECT 1) one LEFT JOIN delivery d ON true
     ), written AS (
       UPDATE ${schema}.publication_deliveries d
       SET state = $4, ended_at = CASE WHEN d.state = $4 THEN d.ended_at ELSE clock_timestamp() END,
           started_at = coalesce(d.started_at, clock_timestamp()),
           last_code = $5, abandoned_by = $6, abandoned_reason = $7, waiting_since = NULL
       FROM judged j
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3 AND j.ends
       RETURNING 1
     ), unknown AS (
       UPDATE ${schema}.publication_attempts a
       SET ended = 'outcome_unknown', ended_at = clock_timestamp(), code = 'outcome_unknown'
       FROM judged j
       WHERE a.tenant = $1 AND a.publication = $3 AND a.endpoint = $2 AND a.ended IS NULL AND j.ends
     ), letter AS (
       INSERT INTO ${schema}.dead_letters AS l
         (tenant, event_key, kind, source, event_id, type, code, message, input, effects, runs)
       SELECT $1, $8, 'delivery', $2, $3, $9, $5, $10, $11, $12, ARRAY[$13::text]
       FROM judged j WHERE j.ends AND $4 = 'dead_lettered'
       ON CONFLICT (tenant, event_key) WHERE closed_at IS NULL DO UPDATE
         SET code = EXCLUDED.code, message = EXCLUDED.message, input = EXCLUDED.input, effects = EXCLUDED.effects,
             runs = l.runs || EXCLUDED.runs, occurrences = l.occurrences + 1, last_at = clock_timestamp()
         WHERE NOT l.runs @> EXCLUDED.runs
       RETURNING 1
     ), closed AS (
       UPDATE ${schema}.dead_letters l SET closed_at = clock_timestamp(), closed_by = 'abandon'
       FROM judged j
       WHERE l.tenant = $1 AND l.event_key = $8 AND l.closed_at IS NULL AND j.ends AND $4 = 'abandoned'
       RETURNING 1
     )
     SELECT CASE WHEN $4 = 'dead_lettered' THEN EXISTS (SELECT 1 FROM letter)
                 ELSE EXISTS (SELECT 1 FROM written) OR EXISTS (SELECT 1 FROM closed) END AS changed,
            coalesce(j.delivered, false) AS delivered
     FROM judged j`,
    [
      end.tenant,
      end.endpoint,
      end.publication,
      end.outcome,
      storableText(end.code),
      end.by === undefined ? null : storableText(end.by),
      end.reason === undefined ? null : storableText(end.reason),
      end.deliveryKey,
      storableText(end.type),
      storableText(end.message),
      end.input,
      end.reasons,
      end.runId,
    ],
  );
  return rows[0] ?? { changed: false, delivered: false };
}
