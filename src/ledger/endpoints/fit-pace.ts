import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { EndpointRef } from './endpoint-row.js';

/**
 * Gives an endpoint whose row the transaction holds a pace, or takes it away, as it has a rate limit or none. A pace that
 * stands is left alone: it belongs to a version of the endpoint, and the first attempt at a later one begins another queue.
 */
export async function fitPace(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  isLimited: boolean,
): Promise<void> {
  await sql(
    `WITH gone AS (DELETE FROM ${schema}.endpoint_pace WHERE tenant = $1 AND endpoint = $2 AND NOT $3::boolean)
     INSERT INTO ${schema}.endpoint_pace (tenant, endpoint) SELECT $1, $2 WHERE $3::boolean ON CONFLICT DO NOTHING`,
    [tenant, id, isLimited],
  );
}
