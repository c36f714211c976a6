import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { EndpointRef } from './endpoint-row.js';

/**
 * Lets the secrets of an endpoint expire, none later than it would have, and deletes those that have.
 *
 * @param afterMs How long they go on signing; 0 deletes them at once.
 * @returns How many go on signing.
 */
export async function expireSecrets(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  afterMs: number,
): Promise<number> {
  const { rowCount } = await sql(
    `WITH gone AS (
       DELETE FROM ${schema}.endpoint_secrets
       WHERE tenant = $1 AND endpoint = $2 AND ($3::bigint = 0 OR expires_at <= clock_timestamp())
     )
     UPDATE ${schema}.endpoint_secrets
     SET expires_at = least(coalesce(expires_at, 'infinity'), clock_timestamp() + $3::bigint * interval '1 millisecond')
     WHERE tenant = $1 AND endpoint = $2 AND $3::bigint > 0
       AND (expires_at IS NULL OR expires_at > clock_timestamp())`,
    [tenant, id, afterMs],
  );
  return rowCount;
}
