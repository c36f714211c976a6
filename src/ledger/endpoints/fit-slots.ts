import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { EndpointRef } from './endpoint-row.js';

/**
 * Gives an endpoint whose row the transaction holds as many slots as requests may be under way at once. Slots above that
 * number go, but for those of requests under way: deleted, they would not count any more if the number grows again, and
 * there would be as many requests beside them as it says. No attempt takes such a slot; a later fitting deletes it.
 */
export async function fitSlots(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  concurrency: number,
): Promise<void> {
  await sql(
    `WITH gone AS (
       DELETE FROM ${schema}.endpoint_slots
       WHERE tenant = $1 AND endpoint = $2 AND slot > $3::integer AND lease_until <= clock_timestamp()
     )
     INSERT INTO ${schema}.endpoint_slots (tenant, endpoint, slot)
     SELECT $1, $2, slot FROM generate_series(1, $3::integer) AS slot
     ON CONFLICT DO NOTHING`,
    [tenant, id, concurrency],
  );
}
