import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { storableText } from '../storable-text.js';

/** One run of a delivery's workflow. */
export interface DeliveryRunRef extends DeliveryRef {
  /** The workflow ID. */
  readonly deliveryKey: string;
  readonly runId: string;
}

/**
 * Of these runs, the IDs of those whose end the ledger has: it was delivered or abandoned, or its dead letter counts the
 * run already.
 */
export async function listSettledDeliveries(
  sql: Sql,
  schema: SchemaName,
  runs: readonly DeliveryRunRef[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ run_id: string }>(
    `SELECT r.run_id
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
       AS r (tenant, endpoint, publication, delivery_key, run_id)
     JOIN ${schema}.publication_deliveries d
       ON d.tenant = r.tenant AND d.publication = r.publication AND d.endpoint = r.endpoint
     WHERE d.state IN ('delivered', 'abandoned')
        OR (d.state = 'dead_lettered' AND EXISTS (
             SELECT 1 FROM ${schema}.dead_letters l
             WHERE l.tenant = r.tenant AND l.event_key = r.delivery_key AND l.runs @> ARRAY[r.run_id]))`,
    [
      runs.map(({ tenant }) => storableText(tenant)),
      runs.map(({ endpoint }) => storableText(endpoint)),
      runs.map(({ publication }) => storableText(publication)),
      runs.map(({ deliveryKey }) => storableText(deliveryKey)),
      runs.map(({ runId }) => runId),
    ],
  );
  return rows.map(({ run_id }) => run_id);
}
