import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type EndpointRef, type EndpointRow, endpointColumns } from './endpoint-row.js';

/** The state that a person puts an endpoint into. */
export interface StateSet {
  readonly state: 'enabled' | 'paused' | 'disabled';
  /** In the person's words. */
  readonly reason: string | null;
}

/**
 * Puts an endpoint whose row the transaction holds into a state, as its next version. Enabled, it begins afresh: what was
 * learnt of its health before would else disable it at its first failure.
 */
export async function setEndpointState(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  { state, reason }: StateSet,
): Promise<EndpointRow> {
  const { rows } = await sql<EndpointRow>(
    `UPDATE ${schema}.endpoints
     SET state = $3::text, state_code = CASE WHEN $3::text = 'enabled' THEN NULL ELSE 'by_owner' END,
         state_reason = CASE WHEN $3::text = 'enabled' THEN NULL ELSE $4::text END, state_at = clock_timestamp(),
         failing_since = CASE WHEN $3::text = 'enabled' THEN NULL ELSE failing_since END,
         notices = CASE WHEN $3::text = 'enabled' THEN 0 ELSE notices END,
         version = version + 1, updated_at = clock_timestamp()
     WHERE tenant = $1 AND id = $2
     RETURNING ${endpointColumns}`,
    [tenant, id, state, reason],
  );
  return rows[0] as EndpointRow;
}
