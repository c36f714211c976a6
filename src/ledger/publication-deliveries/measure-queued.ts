import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import { windowOf } from '../publications/window-of.js';
import type { SchemaName } from '../schema-name.js';

/** Why a delivery is queued. */
export interface QueuedDelivery {
  /** Since it was queued, ms, by the database's clock. */
  readonly waitedMs: number;
  /** As many others to its endpoint as a relay starts ahead of it were started and not yet sent. */
  readonly behind: boolean;
}

/**
 * Measures how long a delivery has been queued, and whether its endpoint is behind; 0 and false where it is not queued any
 * more.
 *
 * @param window Started and not yet sent deliveries of an endpoint, at the most, from which on a relay leaves its queue alone.
 */
export async function measureQueued(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint, publication }: DeliveryRef,
  window: number,
): Promise<QueuedDelivery> {
  const { rows } = await sql<QueuedDelivery>(
    `SELECT (extract(epoch FROM clock_timestamp() - d.queued_at) * 1000)::float8 AS "waitedMs",
            (SELECT count(*) FROM ${schema}.publication_deliveries s
             WHERE s.tenant = $1 AND s.endpoint = $2 AND s.state = 'started' AND s.attempts = 0)
              >= ${windowOf('o.concurrency', '$4')} AS behind
     FROM ${schema}.publication_deliveries d
     LEFT JOIN ${schema}.endpoints o ON o.tenant = d.tenant AND o.id = d.endpoint
     WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3 AND d.state = 'queued'`,
    [tenant, endpoint, publication, window],
  );
  return rows[0] ?? { waitedMs: 0, behind: false };
}
