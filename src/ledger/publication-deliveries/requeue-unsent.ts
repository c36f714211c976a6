import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import { outboxChannel } from '../publications/outbox-channel.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Gives a delivery whose workflow is gone back to the queue, if nothing of it was ever sent; a relay starts it again.
 *
 * @returns False where an attempt has begun, or it has ended, meanwhile.
 */
export async function requeueUnsent(sql: Sql, schema: SchemaName, delivery: DeliveryRef): Promise<boolean> {
  const { rows } = await sql(
    `WITH requeued AS (
       UPDATE ${schema}.publication_deliveries d
       SET state = 'queued', started_at = NULL, relay_until = '-infinity'
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3 AND d.state = 'started' AND d.attempts = 0
       RETURNING 1
     )
     SELECT pg_notify($4, '') FROM requeued`,
    [delivery.tenant, delivery.endpoint, delivery.publication, outboxChannel(schema)],
  );
  return rows.length > 0;
}
