import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { DeliveryState } from './delivery-row.js';

/** A delivery that a person gives up while no workflow carries it. */
export interface AbandonDelivery extends DeliveryRef {
  /** The workflow ID. */
  readonly deliveryKey: string;
  /** Where it stood when it was looked at. */
  readonly from: DeliveryState;
  readonly by: string;
  readonly reason: string;
}

/**
 * Gives up a delivery that nobody carries, and closes its open dead letter. A delivery that has moved on since it was looked
 * at is left alone: a relay may just have started it, and then its workflow has to be asked.
 *
 * @returns Whether it is given up now.
 */
export async function abandonDelivery(sql: Sql, schema: SchemaName, delivery: AbandonDelivery): Promise<boolean> {
  const { rows } = await sql<{ abandoned: boolean }>(
    `WITH given_up AS (
       UPDATE ${schema}.publication_deliveries d
       SET state = 'abandoned', ended_at = clock_timestamp(), last_code = 'abandoned', abandoned_by = $4, abandoned_reason = $5,
           waiting_since = NULL
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3 AND d.state = $6
       RETURNING 1
     ), unknown AS (
       UPDATE ${schema}.publication_attempts a
       SET ended = 'outcome_unknown', ended_at = clock_timestamp(), code = 'outcome_unknown'
       WHERE a.tenant = $1 AND a.endpoint = $2 AND a.publication = $3 AND a.ended IS NULL
         AND EXISTS (SELECT 1 FROM given_up)
     ), closed AS (
       UPDATE ${schema}.dead_letters l SET closed_at = clock_timestamp(), closed_by = 'abandon'
       WHERE l.tenant = $1 AND l.event_key = $7 AND l.closed_at IS NULL AND EXISTS (SELECT 1 FROM given_up)
     )
     SELECT EXISTS (SELECT 1 FROM given_up) AS abandoned`,
    [
      delivery.tenant,
      delivery.endpoint,
      delivery.publication,
      delivery.by,
      delivery.reason,
      delivery.from,
      delivery.deliveryKey,
    ],
  );
  return rows[0]?.abandoned === true;
}
