import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** A claim that no event need have: what was done before Onefold was there has none. */
export interface FoundClaim {
  readonly tenant: string;
  readonly effect: string;
  readonly businessKey: string;
  readonly eventKey: string;
}

/** More tenants than this are not gone through. */
const tenantsAtMost = 1_000;

/**
 * Finds claims by their business key.
 *
 * The key comes last in the index, so without a tenant it goes from one tenant to the next in it (a loose index scan).
 *
 * @param effects Every name of every effect that is asked for.
 */
export async function findClaims(
  sql: Sql,
  schema: SchemaName,
  asked: { readonly tenant?: string | undefined; readonly effects: readonly string[]; readonly businessKey: string },
  limit: number,
): Promise<readonly FoundClaim[]> {
  const { rows } = await sql<FoundClaim>(
    `WITH RECURSIVE tenants (tenant, nth) AS (
       SELECT coalesce($1::text, (SELECT min(tenant) FROM ${schema}.effects)), 1
       UNION ALL
       SELECT (SELECT min(e.tenant) FROM ${schema}.effects e WHERE e.tenant > t.tenant), t.nth + 1
       FROM tenants t WHERE $1::text IS NULL AND t.tenant IS NOT NULL AND t.nth < ${tenantsAtMost}
     )
     SELECT e.tenant, e.effect, e.business_key AS "businessKey", e.event_key AS "eventKey"
     FROM tenants t CROSS JOIN unnest($2::text[]) AS name (effect)
     JOIN ${schema}.effects e ON e.tenant = t.tenant AND e.effect = name.effect AND e.business_key = $3
     LIMIT ${limit}`,
    [asked.tenant ?? null, asked.effects, asked.businessKey],
  );
  return rows;
}
