import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { HealthRef } from './lock-health.js';

/**
 * Notes what the owner of an endpoint whose row the transaction holds is told of its health, and disables it where that
 * is what they are told. Its version stays: that counts what its owner does.
 */
export async function noteHealth(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint }: HealthRef,
  note: {
    readonly notices: number;
    /** Why it is disabled, for people; undefined leaves it as it is. */
    readonly disabledBecause?: string;
  },
): Promise<void> {
  await sql(
    `UPDATE ${schema}.endpoints
     SET notices = $3, noticed_at = clock_timestamp(),
         state = CASE WHEN $4::text IS NULL THEN state ELSE 'disabled' END,
         state_code = CASE WHEN $4::text IS NULL THEN state_code ELSE 'endpoint_failing' END,
         state_reason = coalesce($4, state_reason),
         state_at = CASE WHEN $4::text IS NULL THEN state_at ELSE clock_timestamp() END,
         updated_at = CASE WHEN $4::text IS NULL THEN updated_at ELSE clock_timestamp() END
     WHERE tenant = $1 AND id = $2`,
    [tenant, endpoint, note.notices, note.disabledBecause ?? null],
  );
}
