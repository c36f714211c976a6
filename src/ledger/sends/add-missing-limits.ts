import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Writes the rows that an endpoint's limits live in, where it has none: someone wrote it into the table by hand. Rows that
 * stand are left alone.
 */
export async function addMissingLimits(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint }: { readonly tenant: string; readonly endpoint: string },
): Promise<void> {
  await sql(
    `WITH slots AS (
       INSERT INTO ${schema}.endpoint_slots (tenant, endpoint, slot)
       SELECT e.tenant, e.id, generate_series(1, e.concurrency)
       FROM ${schema}.endpoints e
       WHERE e.tenant = $1 AND e.id = $2 AND e.state <> 'removed'
         AND NOT EXISTS (SELECT 1 FROM ${schema}.endpoint_slots s WHERE s.tenant = $1 AND s.endpoint = $2)
       ON CONFLICT DO NOTHING
     )
     INSERT INTO ${schema}.endpoint_pace (tenant, endpoint)
     SELECT e.tenant, e.id FROM ${schema}.endpoints e
     WHERE e.tenant = $1 AND e.id = $2 AND e.state <> 'removed' AND e.rate_limit IS NOT NULL
     ON CONFLICT DO NOTHING`,
    [tenant, endpoint],
  );
}
