import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** An endpoint with a version that the deliveries under way have not been told of. */
export interface UntoldEndpoint {
  readonly tenant: string;
  readonly endpoint: string;
  readonly version: number;
  /** The last publication that was told of this version; '' where none was. */
  readonly after: string;
}

/**
 * Takes an endpoint whose deliveries under way have not been told of its last change, so that one relay tells them and no
 * two. What another has taken is passed over; where that one dies, its lease runs out.
 *
 * @param leaseMs How long the telling is this relay's, ms; noting a place renews it.
 * @returns undefined where there is none.
 */
export async function takeUntold(sql: Sql, schema: SchemaName, leaseMs: number): Promise<UntoldEndpoint | undefined> {
  const { rows } = await sql<UntoldEndpoint>(
    `WITH free AS (
       SELECT e.tenant, e.id FROM ${schema}.endpoints e
       WHERE e.told_version < e.version AND e.told_lease <= clock_timestamp()
       ORDER BY e.tenant, e.id LIMIT 1
       FOR UPDATE SKIP LOCKED
     )
     UPDATE ${schema}.endpoints e
     SET told_lease = clock_timestamp() + $1 * interval '1 millisecond',
         -- A version that came about while the one before was told is told to all.
         told_after = CASE WHEN e.told_for = e.version THEN e.told_after ELSE '' END,
         told_for = e.version
     FROM free
     WHERE e.tenant = free.tenant AND e.id = free.id
     RETURNING e.tenant, e.id AS endpoint, e.version::float8 AS version, e.told_after AS "after"`,
    [leaseMs],
  );
  return rows[0];
}
